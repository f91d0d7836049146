package sallyport_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/schema"
	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

type greetArgs struct {
	Name  string   `json:"name" doc:"who"`
	Times int      `json:"times" default:"1" minimum:"1"`
	Also  []string `json:"also,omitempty"`
}

type greeting struct {
	Text string `json:"text"`
}

func give[R any](name string, r R, err error, o ...sallyport.Option) sallyport.Item {
	return sallyport.Tool(name, "gives "+name, func(*sallyport.Call, sallyport.None) (R, error) { return r, err }, o...)
}

var plugin = sallyport.New("test", "2.1.0",
	sallyport.Description("for tests"),
	sallyport.State("session"),
	sallyport.Want("net", "GET https://example.com/**", "reads <examples>"),
	sallyport.Want("fs", "read ~/x/**", ""),
	sallyport.Tool("greet", "greets", func(_ *sallyport.Call, a greetArgs) (greeting, error) {
		return greeting{strings.Repeat("Hello, "+a.Name+"! ", a.Times)}, nil
	}, sallyport.Title("Greet"), sallyport.ReadOnly(), sallyport.OpenWorld(false), sallyport.Destructive(false), sallyport.Idempotent(),
		sallyport.Icons(sallyport.Icon{Src: "https://example.com/i.png", Sizes: []string{"any"}}), sallyport.Meta("example.com/x", 1)),
	give("string", "a <b> & c", nil),
	give("content", sallyport.Image([]byte{1, 2, 3}, "image/png"), nil),
	give("contents", []sallyport.Content{sallyport.Text(""), sallyport.Link("x://y", "y")}, nil),
	give("result", sallyport.Result{Structured: []int{1}, IsError: true, Meta: map[string]any{"example.com/a": 1}}, nil),
	give("pointer", &sallyport.Result{Content: []sallyport.Content{sallyport.Text("p")}}, nil),
	give("nil pointer", (*sallyport.Result)(nil), nil),
	give("map", map[string]int{"n": 1}, nil),
	give("number", 7, nil),
	give("slice", []string{"a"}, nil),
	give("any", any("dynamic"), nil),
	give("nothing", any(nil), nil),
	give("raw", sallyport.RawResult(`{"content":[],"other":true}`), nil),
	give("bad raw", sallyport.RawResult(`{`), nil),
	give("bad value", map[string]any{"f": make(chan int)}, nil),
	give("own schema", greeting{"x"}, nil, sallyport.OutputSchema(`{"type":"object"}`)),
	give("no schema", greeting{"x"}, nil, sallyport.OutputSchema(""), sallyport.Hidden()),
	give("error", "", errors.New("it does not work")),
	give("mcp error", "", &sallyport.Error{Code: 42, Message: "no", Data: json.RawMessage(`{"a":1}`)}),
	sallyport.RawTool("raw tool", "raw", `{"type":"object","allOf":[]}`, func(_ *sallyport.Call, args json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"content":[{"type":"text","text":` + string(mustJSON(string(args))) + `}]}`), nil
	}),
	sallyport.Resource("test://text", "text", "a text", func(*sallyport.Call) (string, error) { return "hello", nil },
		sallyport.MIMEType("text/plain"), sallyport.Size(5), sallyport.Annotate(sallyport.ContentAnnotations{Audience: []string{"user"}, LastModified: "2026-01-01T00:00:00Z"})),
	sallyport.Resource("test://bytes", "bytes", "bytes", func(*sallyport.Call) ([]byte, error) { return nil, nil }),
	sallyport.Resource("test://json", "json", "JSON", func(*sallyport.Call) (greeting, error) { return greeting{"x"}, nil }),
	sallyport.Resource("test://many", "many", "two", func(*sallyport.Call) ([]sallyport.Contents, error) {
		return []sallyport.Contents{{Text: "1"}, {URI: "test://other", Text: "2", MIMEType: "text/x"}}, nil
	}),
	sallyport.Resource("test://broken", "broken", "fails", func(*sallyport.Call) (string, error) { return "", errors.New("disk on fire") }),
	sallyport.Template("test://t/{id}", "t", "by ID", func(c *sallyport.Call, v sallyport.Vars) (sallyport.Contents, error) {
		if v["id"] == "0" {
			return sallyport.Contents{}, fs.ErrNotExist
		}
		return sallyport.Contents{Text: c.Method() + " " + c.URI() + " " + v["id"]}, nil
	}, sallyport.Completion("id", func(c *sallyport.Call, typed string) ([]string, error) {
		if typed == "?" {
			return nil, errors.New("no idea")
		}
		return append([]string{typed + c.Chosen()["other"]}, make([]string, 120)...), nil
	})),
	sallyport.Prompt("p", "a prompt", func(_ *sallyport.Call, a struct {
		Who  string  `json:"who" doc:"the one"`
		How  string  `json:"how" default:"kindly" title:"How"`
		More *string `json:"more"`
	}) (sallyport.PromptResult, error) {
		return sallyport.PromptResult{Description: "d", Messages: []sallyport.Message{
			sallyport.User(sallyport.Text(a.Who + " " + a.How)), sallyport.Assistant(sallyport.Text("ok"))}}, nil
	}),
	sallyport.Prompt("text", "", func(*sallyport.Call, sallyport.None) (string, error) { return "just this", nil }),
	sallyport.Prompt("one", "", func(*sallyport.Call, sallyport.None) (sallyport.Message, error) {
		return sallyport.Assistant(sallyport.Text("one")), nil
	}),
	sallyport.Prompt("none", "", func(*sallyport.Call, sallyport.None) ([]sallyport.Message, error) { return nil, nil }),
	sallyport.Prompt("failing", "", func(*sallyport.Call, sallyport.None) (string, error) {
		return "", &sallyport.AskError{Kind: sallyport.KindTimeout, Message: "too slow"}
	}),
)

func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func TestTool_encodesEachKindOfResult(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	for tool, want := range map[string]string{
		"string":      `{"content":[{"type":"text","text":"a <b> & c"}]}`,
		"content":     `{"content":[{"type":"image","data":"AQID","mimeType":"image/png"}]}`,
		"contents":    `{"content":[{"type":"text","text":""},{"type":"resource_link","uri":"x://y","name":"y"}]}`,
		"result":      `{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1],"isError":true,"_meta":{"example.com/a":1}}`,
		"pointer":     `{"content":[{"type":"text","text":"p"}]}`,
		"nil pointer": `{"content":[]}`,
		"map":         `{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}`,
		"number":      `{"content":[{"type":"text","text":"7"}]}`,
		"slice":       `{"content":[{"type":"text","text":"[\"a\"]"}]}`,
		"any":         `{"content":[{"type":"text","text":"dynamic"}]}`,
		"nothing":     `{"content":[]}`,
		"raw":         `{"content":[],"other":true}`,
		"error":       `{"content":[{"type":"text","text":"it does not work"}],"isError":true}`,
		"own schema":  `{"content":[{"type":"text","text":"{\"text\":\"x\"}"}],"structuredContent":{"text":"x"}}`,
	} {
		if got := string(h.Call(tool, nil).Raw); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", tool, got, want)
		}
	}
}

func TestTool_decodesArguments(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	var g greeting
	h.Call("greet", `{"name":"Ada"}`).Into(&g)
	if g.Text != "Hello, Ada! " {
		t.Errorf("without times: got %q, want \"Hello, Ada! \"", g.Text)
	}
	h.Call("greet", greetArgs{Name: "Bob", Times: 2}).Into(&g)
	if g.Text != "Hello, Bob! Hello, Bob! " {
		t.Errorf("twice: got %q, want \"Hello, Bob! Hello, Bob! \"", g.Text)
	}
	for args, want := range map[string]string{
		`{"name":7}`:                  "argument name cannot be a JSON number",
		`{"name":"x","also":[1]}`:     "argument also[0] cannot be a JSON number",
		`{"name":"x","times":"much"}`: "argument times cannot be a JSON string",
		`[1]`:                         "arguments cannot be a JSON array",
	} {
		r := h.Call("greet", args)
		if !r.IsError || r.Text() != want {
			t.Errorf("%s: got error %v, %q; want an error, %q", args, r.IsError, r.Text(), want)
		}
	}
	if got := h.Call("raw tool", `{"x":1}`).Text(); got != `{"x":1}` {
		t.Errorf("raw arguments: got %q, want {\"x\":1}", got)
	}
}

func TestRequest_reportsErrorsWithTheirCodes(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	type m = map[string]any
	for _, c := range []struct {
		method string
		params any
		want   string
	}{
		{"tools/call", m{"name": "mcp error"}, `{"code":42,"message":"no","data":{"a":1}}`},
		{"tools/call", m{"name": "absent"}, `{"code":-32602,"message":"unknown tool: absent"}`},
		{"tools/call", m{"name": 7}, `{"code":-32602,"message":"params: name must be a string"}`},
		{"prompts/get", m{"name": "absent"}, `{"code":-32602,"message":"unknown prompt: absent"}`},
		{"prompts/get", m{"name": "p"}, `{"code":-32602,"message":"argument who is missing"}`},
		{"prompts/get", m{"name": "p", "arguments": m{"who": 1}}, `{"code":-32602,"message":"argument who cannot be a JSON number"}`},
		{"prompts/get", m{"name": "p", "arguments": []int{1}}, `{"code":-32602,"message":"arguments: not a JSON object"}`},
		{"prompts/get", m{"name": "failing"}, `{"code":-32603,"message":"too slow","data":{"kind":"timeout"}}`},
		{"resources/read", m{"uri": "test://absent"}, `{"code":-32602,"message":"resource not found","data":{"uri":"test://absent"}}`},
		{"resources/read", m{"uri": "test://t/0"}, `{"code":-32602,"message":"resource not found","data":{"uri":"test://t/0"}}`},
		{"resources/read", m{"uri": "test://broken"}, `{"code":-32603,"message":"disk on fire"}`},
		{"completion/complete", m{"ref": m{"type": "ref/prompt", "name": "no"}}, `{"code":-32602,"message":"unknown ref: no"}`},
		{"completion/complete", m{"ref": m{"type": "ref/resource", "uri": "test://t/{id}"}, "argument": m{"name": "id", "value": "?"}}, `{"code":-32603,"message":"no idea"}`},
		{"tools/list", nil, `{"code":-32601,"message":"method not found: tools/list"}`},
	} {
		_, err := h.Request(c.method, c.params)
		var e *sallyport.Error
		if !errors.As(err, &e) {
			t.Errorf("%s %v: got %v, want an Error", c.method, c.params, err)
			continue
		}
		if got := string(mustJSON(e)); got != c.want {
			t.Errorf("%s %v:\ngot  %s\nwant %s", c.method, c.params, got, c.want)
		}
	}
	for tool, want := range map[string]string{"bad value": "the tool's result has no JSON: json: unsupported type: chan int", "bad raw": "the tool's result has no JSON: the raw result is not JSON"} {
		if r := h.Call(tool, nil); !r.IsError || r.Text() != want {
			t.Errorf("%s: got error %v, %q; want an error, %q", tool, r.IsError, r.Text(), want)
		}
	}
}

func TestDescribe_publishesTheManifest(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	m := h.Describe()
	if m.Name != "test" || m.Version != "2.1.0" || m.Description != "for tests" || m.State != "session" {
		t.Errorf("got head %+v, want test 2.1.0 for tests with state session", m)
	}
	if got, want := string(mustJSON(m.Wants)), `[{"net":"GET https://example.com/**","why":"reads \u003cexamples\u003e"},{"fs":"read ~/x/**"}]`; got != want {
		t.Errorf("wants %s", got)
	}
	want := `{"name":"greet","title":"Greet","description":"greets","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"who"},` +
		`"times":{"type":"integer","minimum":1,"default":1},"also":{"type":"array","items":{"type":"string"}}},"required":["name"],"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},` +
		`"annotations":{"readOnlyHint":true,"openWorldHint":false,"destructiveHint":false,"idempotentHint":true},` +
		`"icons":[{"src":"https://example.com/i.png","sizes":["any"]}],"_meta":{"example.com/x":1}}`
	if !strings.Contains(string(m.Raw), want) {
		t.Errorf("no %s\nin %s", want, m.Raw)
	}
	for _, part := range []string{
		`{"name":"raw tool","description":"raw","inputSchema":{"type":"object","allOf":[]}}`,
		`{"name":"own schema","description":"gives own schema","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"outputSchema":{"type":"object"}}`,
		`"description":"gives no schema","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"hidden":true}`,
		`{"uri":"test://text","name":"text","description":"a text","mimeType":"text/plain","size":5,"annotations":{"audience":["user"],"lastModified":"2026-01-01T00:00:00Z"}}`,
		`{"uriTemplate":"test://t/{id}","name":"t","description":"by ID"}`,
		`{"name":"p","description":"a prompt","arguments":[{"name":"who","description":"the one","required":true},{"name":"how","title":"How"},{"name":"more"}]}`,
		`{"name":"text"}`,
	} {
		if !strings.Contains(string(m.Raw), part) {
			t.Errorf("got %s, want %s in it", m.Raw, part)
		}
	}
	again := h.Describe()
	if string(again.Raw) != string(m.Raw) {
		t.Errorf("second description: got %s, want %s", again.Raw, m.Raw)
	}
}

func TestResources_areListedAndRead(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	for uri, want := range map[string]string{
		"test://text":  `{"contents":[{"uri":"test://text","mimeType":"text/plain","text":"hello"}]}`,
		"test://bytes": `{"contents":[{"uri":"test://bytes","blob":""}]}`,
		"test://json":  `{"contents":[{"uri":"test://json","text":"{\"text\":\"x\"}"}]}`,
		"test://many":  `{"contents":[{"uri":"test://many","text":"1"},{"uri":"test://other","mimeType":"text/x","text":"2"}]}`,
		"test://t/7":   `{"contents":[{"uri":"test://t/7","text":"resources/read test://t/7 7"}]}`,
	} {
		got, err := h.Request("resources/read", map[string]string{"uri": uri})
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", uri, err, got, want)
		}
	}
	all, err := h.Read("test://many")
	if err != nil || len(all) != 2 || all[1].Text != "2" {
		t.Errorf("Read: got %v, %v; want two contents, the second \"2\"", all, err)
	}
}

func TestPrompts_areListedAndFilled(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	for name, want := range map[string]string{
		"p":    `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"Ada kindly"}},{"role":"assistant","content":{"type":"text","text":"ok"}}]}`,
		"text": `{"messages":[{"role":"user","content":{"type":"text","text":"just this"}}]}`,
		"one":  `{"messages":[{"role":"assistant","content":{"type":"text","text":"one"}}]}`,
		"none": `{"messages":[]}`,
	} {
		got, err := h.Request("prompts/get", map[string]any{"name": name, "arguments": map[string]string{"who": "Ada"}})
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got, want)
		}
	}
	r, err := h.Prompt("p", map[string]string{"who": "Bob", "how": "fast"})
	if err != nil || r.Messages[0].Content.Text != "Bob fast" {
		t.Errorf("got %v, %v; want \"Bob fast\"", r, err)
	}
}

func TestCompletion_boundsSuggestions(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	type m = map[string]any
	raw, err := h.Request("completion/complete", m{
		"ref": m{"type": "ref/resource", "uri": "test://t/{id}"}, "argument": m{"name": "id", "value": "a"},
		"context": m{"arguments": m{"other": "b"}},
	})
	if err != nil || !strings.HasPrefix(string(raw), `{"completion":{"values":["ab","",`) || !strings.HasSuffix(string(raw), `"total":121,"hasMore":true}}`) {
		t.Errorf("got %v %s; want no error, %q at its end", err, raw, `"total":121,"hasMore":true}}`)
	}
	values, err := h.CompleteTemplate("test://t/{id}", "id", "a")
	if err != nil || len(values) != 100 {
		t.Errorf("got %d values, %v; want 100", len(values), err)
	}
	raw, err = h.Request("completion/complete", m{"ref": m{"type": "ref/prompt", "name": "p"}, "argument": m{"name": "who", "value": "a"}})
	if err != nil || string(raw) != `{"completion":{"values":[],"total":0}}` {
		t.Errorf("without suggestions: got %v %s; want no error, %s", err, raw, `{"completion":{"values":[],"total":0}}`)
	}
	if values, err := h.CompleteTemplate("test://text", "x", ""); err != nil || values == nil || len(values) != 0 {
		t.Errorf("of a resource: got %v %v; want not nil, no error", values, err)
	}
}

func TestRandom_differsInEachSource(t *testing.T) {
	a, b := rand.New(sallyport.RandomSource{}), rand.New(sallyport.RandomSource{})
	if a.Uint64() == b.Uint64() {
		t.Error("got equal numbers of two sources, want different ones")
	}
	p := make([]byte, 64)
	if n, err := sallyport.Random.Read(p); n != 64 || err != nil || string(p) == string(make([]byte, 64)) {
		t.Errorf("Read: got %d, %v, %x; want 64 random bytes", n, err, p)
	}
}

func TestConfig_returnsTheValueOrItsDefault(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_VALUE", "")
	if got := sallyport.Config("SALLYPORT_TEST_VALUE", "x"); got != "" {
		t.Errorf("empty value: got %q, want \"\"", got)
	}
	if got := sallyport.Config("SALLYPORT_TEST_ABSENT", "x"); got != "x" {
		t.Errorf("got %q, want \"x\"", got)
	}
}

type report struct {
	List  []int          `json:"list"`
	Map   map[string]int `json:"map"`
	Point *int           `json:"point"`
	Bytes []byte         `json:"bytes"`
	Self  *report        `json:"self"`
	Unit  *string        `json:"unit" enum:"m,s"`
}

// The JSON of zero values fits the published schema of the tool: nil slices, maps and pointers are null.
func TestTool_nilResultsFitTheSchema(t *testing.T) {
	p := sallyport.New("t", "1",
		sallyport.Tool("nil", "", func(*sallyport.Call, sallyport.None) (report, error) { return report{}, nil }),
		sallyport.Tool("map", "", func(*sallyport.Call, sallyport.None) (map[string]int, error) { return nil, nil }),
		sallyport.Tool("list", "", func(*sallyport.Call, sallyport.None) ([]string, error) { return nil, nil }),
		sallyport.Tool("pointer", "", func(*sallyport.Call, sallyport.None) (*report, error) { return nil, nil }),
		sallyport.Tool("nan", "", func(*sallyport.Call, sallyport.None) (float64, error) { return math.NaN(), nil }),
	)
	h := sallyporttest.New(t, p)
	for tool, want := range map[string]string{
		"nil":     `{"list":null,"map":null,"point":null,"bytes":null,"self":null,"unit":null}`,
		"map":     `{}`,
		"list":    `[]`,
		"pointer": `the tool's result has no JSON: it is nil`,
		"nan":     `the tool's result has no JSON: json: unsupported value: NaN`,
	} {
		if got := h.Call(tool, nil).Text(); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
	const want = `{"type":"object","properties":{` +
		`"list":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]},` +
		`"map":{"anyOf":[{"type":"object","additionalProperties":{"type":"integer"}},{"type":"null"}]},` +
		`"point":{"anyOf":[{"type":"integer"},{"type":"null"}]},` +
		`"bytes":{"anyOf":[{"type":"string","contentEncoding":"base64"},{"type":"null"}]},` +
		`"self":{"anyOf":[{"$ref":"#"},{"type":"null"}]},` +
		`"unit":{"anyOf":[{"type":"string","enum":["m","s"]},{"type":"null"}]}},` +
		`"required":["list","map","bytes"]}`
	if got := string(schema.Of(reflect.TypeFor[report](), schema.Output)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
