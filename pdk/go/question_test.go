package sallyport_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

type person struct {
	Name string   `json:"name" title:"Your name"`
	Age  int      `json:"age" default:"30" minimum:"0"`
	Team string   `json:"team" enum:"red,blue" default:"red"`
	Tags []string `json:"tags,omitempty"`
}

// asking is a plugin whose tools ask and return the answers.
var asking = sallyport.New("asking", "1",
	sallyport.Tool("form", "", func(c *sallyport.Call, _ sallyport.None) (string, error) {
		p, err := sallyport.Elicit[person](c, "Who are you?")
		if errors.Is(err, sallyport.ErrDeclined) {
			return "then not", nil
		}
		return p.Name + " of " + p.Team, err
	}),
	sallyport.Tool("page", "", func(c *sallyport.Call, _ sallyport.None) (string, error) {
		return "agreed", sallyport.ElicitURL(c, "Sign in", "https://example.com/")
	}),
	sallyport.Tool("model", "", func(c *sallyport.Call, _ sallyport.None) (string, error) {
		a, err := sallyport.Sample(c, "Hello?", 10)
		return a.Text() + " says " + a.Model, err
	}),
	sallyport.Tool("roots", "", func(c *sallyport.Call, _ sallyport.None) ([]sallyport.Root, error) {
		return sallyport.Roots(c)
	}),
	sallyport.Tool("several", "", func(c *sallyport.Call, _ sallyport.None) (string, error) {
		form := sallyport.Form[map[string]any]{Key: "f", Message: "?", Schema: `{"type":"object","properties":{}}`}
		temperature := 0.5
		model := sallyport.Sampling{Key: "m", Messages: []sallyport.Message{sallyport.User(sallyport.Text("Hi"))}, MaxTokens: 5,
			System: "Be brief.", Temperature: &temperature, Stop: []string{"."}, Hints: []string{"small"}}
		roots := sallyport.RootList{Key: "r"}
		err := sallyport.Ask(c, &form, &model, &roots)
		if err != nil && !errors.Is(err, sallyport.ErrCancelled) {
			return "", err
		}
		return strings.Join([]string{form.Err.Error(), model.Answer.Text(), roots.Roots[0].URI}, ", "), nil
	}),
	sallyport.Tool("over", "", func(c *sallyport.Call, _ sallyport.None) (string, error) {
		ctx := c.Context()
		c.Info("still there")
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		default:
			return "on", nil
		}
	}),
)

// answers sets a fixed answer and records the question.
func answers(h *sallyporttest.Host, method, answer string) *string {
	asked := new(string)
	h.Answer(method, func(params json.RawMessage) (any, error) {
		*asked = string(params)
		return json.RawMessage(answer), nil
	})
	return asked
}

func TestElicit_fillsTheForm(t *testing.T) {
	h := sallyporttest.New(t, asking)
	asked := answers(h, "elicitation/create", `{"action":"accept","content":{"name":"Ada"}}`)
	if got := h.Call("form", nil).Text(); got != "Ada of red" {
		t.Errorf("got %q, want \"Ada of red\"", got)
	}
	const want = `{"mode":"form","message":"Who are you?","requestedSchema":{"type":"object","properties":{` +
		`"name":{"type":"string","title":"Your name"},"age":{"type":"integer","minimum":0,"default":30},` +
		`"team":{"type":"string","enum":["red","blue"],"default":"red"},"tags":{"type":"array","items":{"type":"string"}}},"required":["name"]}}`
	if *asked != want {
		t.Errorf("asked %s\nwant  %s", *asked, want)
	}
	for answer, want := range map[string]string{
		`{"action":"decline"}`:                     "then not",
		`{"action":"cancel"}`:                      "the user dismissed the question",
		`{"action":"accept","content":{"name":5}}`: "argument name cannot be a JSON number",
	} {
		answers(h, "elicitation/create", answer)
		if got := h.Call("form", nil).Text(); got != want {
			t.Errorf("%s: got %q, want %q", answer, got, want)
		}
	}
	asked = answers(h, "elicitation/create", `{"action":"accept"}`)
	if got := h.Call("page", nil).Text(); got != "agreed" || *asked != `{"mode":"url","message":"Sign in","url":"https://example.com/"}` {
		t.Errorf("page: got %s, asked %s; want agreed, the URL asked", got, *asked)
	}
}

func TestSample_returnsTheModelsText(t *testing.T) {
	h := sallyporttest.New(t, asking)
	for _, content := range []string{`{"type":"text","text":"Hi"}`, `[{"type":"text","text":"H"},{"type":"text","text":"i"}]`} {
		asked := answers(h, "sampling/createMessage", `{"role":"assistant","model":"m","content":`+content+`}`)
		if got := h.Call("model", nil).Text(); got != "Hi says m" {
			t.Errorf("%s: got %q, want \"Hi says m\"", content, got)
		}
		if *asked != `{"messages":[{"role":"user","content":{"type":"text","text":"Hello?"}}],"maxTokens":10}` {
			t.Errorf("%s: got asked %s, want the message and 10 tokens", content, *asked)
		}
	}
}

func TestAsk_asksSeveralAtOnce(t *testing.T) {
	h := sallyporttest.New(t, asking)
	answers(h, "elicitation/create", `{"action":"cancel"}`)
	asked := answers(h, "sampling/createMessage", `{"role":"assistant","model":"m","content":{"type":"text","text":"Hi"}}`)
	answers(h, "roots/list", `{"roots":[{"uri":"file:///a"}]}`)
	if got := h.Call("several", nil).Text(); got != "the user dismissed the question, Hi, file:///a" {
		t.Errorf("got %q, want %q", got, "the user dismissed the question, Hi, file:///a")
	}
	const want = `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":5,"systemPrompt":"Be brief.",` +
		`"temperature":0.5,"stopSequences":["."],"modelPreferences":{"hints":[{"name":"small"}]}}`
	if *asked != want {
		t.Errorf("asked %s\nwant  %s", *asked, want)
	}
	if got := strings.Join(h.Asked(), " "); got != "elicitation/create sampling/createMessage roots/list" {
		t.Errorf("got asked %s, want elicitation, sampling, roots", got)
	}
	if got := h.Call("roots", nil).Text(); got != `[{"uri":"file:///a"}]` {
		t.Errorf("roots: got %s, want %s", got, `[{"uri":"file:///a"}]`)
	}
}

// The error for a missing client capability names it. Every other refusal is the tool's error.
func TestAsk_namesTheMissingCapability(t *testing.T) {
	h := sallyporttest.New(t, asking)
	h.Answer("roots/list", func(json.RawMessage) (any, error) {
		return nil, &sallyport.AskError{Kind: sallyport.KindUnsupported, Message: "no roots", Requires: json.RawMessage(`{"roots":{}}`)}
	})
	_, err := h.Request("tools/call", map[string]any{"name": "roots"})
	var e *sallyport.Error
	if !errors.As(err, &e) || e.Message != "no roots" || string(e.Data) != `{"kind":"unsupported","requiredCapabilities":{"roots":{}}}` {
		t.Errorf("got %v, want \"no roots\" with the kind and the capability as data", err)
	}
	if r := h.Call("model", nil); !r.IsError || r.Text() != "sampling/createMessage is not granted" {
		t.Errorf("got %s, want an error that sampling/createMessage is not granted", r.Raw)
	}
}

// cancelled is a host that only lets the plugin read the request and write the response.
type cancelled struct {
	request  bytes.Reader
	response bytes.Buffer
}

func (h *cancelled) Read(_ uint32, p []byte) int32 {
	n, _ := h.request.Read(p) // the end is 0 bytes
	return int32(n)
}

func (h *cancelled) Write(_ uint32, p []byte) int32 {
	h.response.Write(p)
	return int32(len(p))
}

func (h *cancelled) Call([]byte) int64  { return -int64(sallyport.ErrnoCancelled) }
func (h *cancelled) Close(uint32) int32 { return 0 }

func TestCall_contextEndsWithTheCall(t *testing.T) {
	h := sallyporttest.New(t, asking)
	if got := h.Call("over", nil).Text(); got != "on" {
		t.Errorf("got %q, want \"on\"", got)
	}
	w := &cancelled{}
	w.request.Reset([]byte(`{"method":"tools/call","params":{"name":"over"}}`))
	if err := asking.Handle(w, 0); err != nil {
		t.Fatal(err)
	}
	if got := w.response.String(); !strings.Contains(got, "the call was cancelled") {
		t.Errorf("got %s, want \"the call was cancelled\" in it", got)
	}
}
