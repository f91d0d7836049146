package sallyport_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

// run calls f as a tool.
func run(t *testing.T, prepare func(h *sallyporttest.Host), f func(c *sallyport.Call) (any, error)) (*sallyporttest.Host, *sallyporttest.Result) {
	t.Helper()
	p := sallyport.New("t", "1", sallyport.Tool("f", "", func(c *sallyport.Call, _ sallyport.None) (any, error) { return f(c) }))
	h := sallyporttest.New(t, p)
	if prepare != nil {
		prepare(h)
	}
	return h, h.Call("f", nil)
}

func TestCall_sendsProgress(t *testing.T) {
	h, _ := run(t, nil, func(c *sallyport.Call) (any, error) {
		c.Progress(1, 0, "")
		c.Progress(2, 4, "half")
		return c.Name(), nil
	})
	want := []sallyporttest.Progress{{Token: 1.0, Progress: 1}, {Token: 1.0, Progress: 2, Total: 4, Message: "half"}}
	if !reflect.DeepEqual(h.Progress(), want) {
		t.Errorf("got %v, want %v", h.Progress(), want)
	}
}

func TestCall_sendsNoProgressWithoutAToken(t *testing.T) {
	p := sallyport.New("t", "1", sallyport.Tool("f", "", func(c *sallyport.Call, _ sallyport.None) (string, error) {
		c.Progress(1, 2, "x")
		return "", nil
	}))
	h := sallyporttest.New(t, p)
	for _, meta := range []any{nil, map[string]any{}, map[string]any{"progressToken": nil}, 7} {
		if _, err := h.Request("tools/call", map[string]any{"name": "f", "_meta": meta}); err != nil || len(h.Asked()) > 0 {
			t.Errorf("_meta %v: got %v, asked %v; want no error, nothing asked", meta, err, h.Asked())
		}
	}
}

func TestCall_sendsLogMessages(t *testing.T) {
	h, _ := run(t, nil, func(c *sallyport.Call) (any, error) {
		c.Debug("a")
		c.Info("b", "n", 1, 2, "x", "odd")
		c.Warn("c")
		c.Error("d")
		c.Log(sallyport.LevelNotice, "db", []int{1})
		return nil, nil
	})
	want := []sallyporttest.Log{
		{Level: "debug", Data: "a"},
		{Level: "info", Data: map[string]any{"message": "b", "n": 1.0, "!key1": "x"}},
		{Level: "warning", Data: "c"}, {Level: "error", Data: "d"},
		{Level: "notice", Logger: "db", Data: []any{1.0}},
	}
	if !reflect.DeepEqual(h.Logs(), want) {
		t.Errorf("got %v, want %v", h.Logs(), want)
	}
}

func TestCall_sendsNotificationsInOrder(t *testing.T) {
	var sent []string
	record := func(h *sallyporttest.Host) {
		h.Answer("client/release", func(p json.RawMessage) (any, error) {
			sent = append(sent, "release")
			return nil, nil
		})
		for _, m := range []string{"tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated"} {
			h.Answer("notifications/"+m, func(p json.RawMessage) (any, error) {
				sent = append(sent, m+string(p))
				return nil, nil
			})
		}
	}
	_, r := run(t, record, func(c *sallyport.Call) (any, error) {
		c.Release()
		return nil, errors.Join(c.ToolsChanged("a", "b"), c.ShowTools("c"), c.HideTools("a"), c.PromptsChanged(),
			c.ShowResources("x://y"), c.ResourceUpdated("x://y"))
	})
	want := `[release tools/list_changed{"visible":["a","b"]} tools/list_changed{"show":["c"]} tools/list_changed{"hide":["a"]} ` +
		`prompts/list_changed{"visible":[]} resources/list_changed{"show":["x://y"]} resources/updated{"uri":"x://y"}]`
	if r.IsError || fmt.Sprint(sent) != want {
		t.Errorf("got %s, sent %v\nwant %s", r.Raw, sent, want)
	}
}

func TestCall_askReturnsAnswersAndErrors(t *testing.T) {
	prepare := func(h *sallyporttest.Host) {
		h.Answer("kv/get", func(p json.RawMessage) (any, error) { return json.RawMessage(`{"value":` + string(p) + `}`), nil })
		h.Answer("kv/set", func(json.RawMessage) (any, error) {
			return nil, &sallyport.AskError{Kind: sallyport.KindConflict, Message: "changed", Hint: "again", RetryAfter: 1500 * time.Millisecond}
		})
	}
	run(t, prepare, func(c *sallyport.Call) (any, error) {
		var got struct{ Value map[string]string }
		if err := c.Ask("kv/get", map[string]string{"key": strings.Repeat("<k>", 1000)}, &got); err != nil || len(got.Value["key"]) != 3000 {
			t.Errorf("kv/get: got %v, %v; want a value of 3000 bytes", got, err)
		}
		err := c.Ask("kv/set", nil, nil)
		want := &sallyport.AskError{Kind: "conflict", Message: "changed", Hint: "again", RetryAfter: 1500 * time.Millisecond, Code: -32000}
		if !reflect.DeepEqual(err, want) || sallyport.KindOf(fmt.Errorf("x: %w", err)) != sallyport.KindConflict {
			t.Errorf("kv/set: got %#v, want %#v", err, want)
		}
		if err := c.Ask("roots/list", nil, nil); sallyport.KindOf(err) != sallyport.KindDenied {
			t.Errorf("roots/list: got %v, want kind %v", err, sallyport.KindDenied)
		}
		if err := c.Ask("x", make(chan int), nil); err == nil || sallyport.KindOf(err) != "" {
			t.Errorf("params that have no JSON: got %v, want an error", err)
		}
		return nil, nil
	})
}

func TestCall_roundAsksTogether(t *testing.T) {
	prepare := func(h *sallyporttest.Host) {
		h.Answer("a", func(json.RawMessage) (any, error) { return 1, nil })
		h.Answer("c", func(json.RawMessage) (any, error) { return 3, nil })
	}
	run(t, prepare, func(c *sallyport.Call) (any, error) {
		var one, three int
		first, denied, third := &sallyport.Asking{Method: "a", Result: &one}, &sallyport.Asking{Method: "b"}, &sallyport.Asking{Method: "c", Params: 7, Result: &three}
		if err := c.Round(first, denied, third); err != nil {
			t.Error(err)
		}
		if one != 1 || three != 3 || first.Err != nil || third.Err != nil || sallyport.KindOf(denied.Err) != sallyport.KindDenied {
			t.Errorf("got %v (%v), %v, %v (%v); want 1, kind %v, 3", one, first.Err, denied.Err, three, third.Err, sallyport.KindDenied)
		}
		if err := c.Round(&sallyport.Asking{Params: make(chan int)}); err == nil {
			t.Error("round of a value without JSON: got no error, want one")
		}
		return nil, nil
	})
}

// web echoes the request.
var web = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/moved" {
		http.Redirect(w, r, "/here", http.StatusFound)
		return
	}
	body, _ := io.ReadAll(r.Body)
	w.Header()["X-Two"] = []string{"a", "b"}
	w.WriteHeader(http.StatusTeapot)
	fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL, r.Header["X-Mine"], body)
})

func TestCall_fetchSendsAndReceivesBodies(t *testing.T) {
	long := strings.Repeat("0123456789", 500)
	run(t, func(h *sallyporttest.Host) { h.HTTP(web) }, func(c *sallyport.Call) (any, error) {
		header := sallyport.Header{}
		header.Set("x-mine", "0")
		header.Set("X-Mine", "1")
		header.Add("x-MINE", "2")
		res, err := c.Fetch(sallyport.HTTPRequest{Method: "POST", URL: "https://example.com/x?y", Header: header, Body: strings.NewReader(long)})
		if err != nil {
			return nil, err
		}
		if res.Status != 418 || res.Header.Get("x-two") != "a" || res.Header.Get("absent") != "" {
			t.Errorf("got %+v, want 418 with x-two \"a\"", res)
		}
		got, err := res.Body.ReadAll(1 << 20)
		if want := "POST https://example.com/x?y [1 2] " + long; err != nil || string(got) != want {
			t.Errorf("%v %d bytes, want %d", err, len(got), len(want))
		}
		return nil, nil
	})
}

func TestCall_getReadsTheBody(t *testing.T) {
	run(t, func(h *sallyporttest.Host) { h.HTTP(web) }, func(c *sallyport.Call) (any, error) {
		res, err := c.Get("https://example.com/moved")
		if err != nil || res.URL != "https://example.com/here" {
			t.Fatalf("got %+v, %v; want https://example.com/here", res, err)
		}
		got, err := res.Body.ReadAll(3)
		if string(got) != "GET" || !errors.Is(err, sallyport.ErrTooLong) {
			t.Errorf("got %q %v; want \"GET\", %v", got, err, sallyport.ErrTooLong)
		}
		if n, err := res.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("after the end: got %d %v; want 0, %v", n, err, io.EOF)
		}
		if err := res.Body.Close(); err != nil {
			t.Errorf("a second close: got %v, want no error", err)
		}
		if _, err := c.Get("nowhere"); sallyport.KindOf(err) != sallyport.KindInvalid {
			t.Errorf("a bad URL: got %v, want kind %v", err, sallyport.KindInvalid)
		}
		return nil, nil
	})
}

// A host may return a short body as text, and a single header value as text.
func TestCall_fetchReadsTextBodies(t *testing.T) {
	prepare := func(h *sallyporttest.Host) {
		h.Answer("http/fetch", func(json.RawMessage) (any, error) {
			return json.RawMessage(`{"status":200,"headers":{"a":"1","b":["2","3"]},"body":"short"}`), nil
		})
	}
	run(t, prepare, func(c *sallyport.Call) (any, error) {
		res, err := c.Get("https://x")
		if err != nil || res.Header.Get("A") != "1" || len(res.Header["b"]) != 2 {
			t.Fatalf("got %+v, %v; want header A of 1 and two values of b", res, err)
		}
		if got, err := res.Body.ReadAll(100); string(got) != "short" || err != nil {
			t.Errorf("got %q %v; want \"short\", no error", got, err)
		}
		return nil, nil
	})
}

func TestHeader_readsSingleAndRepeatedValues(t *testing.T) {
	h := sallyport.Header{"a": {"1"}, "B": {"2", "3"}}
	raw, err := json.Marshal(h)
	if err != nil || string(raw) != `{"B":["2","3"],"a":"1"}` {
		t.Errorf("got %s %v; want %s, no error", raw, err, `{"B":["2","3"],"a":"1"}`)
	}
	h.Del("b")
	if len(h) != 1 {
		t.Errorf("got %v, want one name", h)
	}
	for _, bad := range []string{`[]`, `{"a":1}`, `{"a":[1]}`} {
		if json.Unmarshal([]byte(bad), &h) == nil {
			t.Errorf("%s: got no error, want one", bad)
		}
	}
}

func TestCall_sendsWrittenBodies(t *testing.T) {
	_, r := run(t, func(h *sallyporttest.Host) { h.HTTP(web) }, func(c *sallyport.Call) (any, error) {
		sent, err := c.NewBody(100)
		if err != nil {
			return nil, err
		}
		fmt.Fprint(sent, "from ", "a body")
		res, err := c.Fetch(sallyport.HTTPRequest{Method: "PUT", URL: "https://x/", Sent: sent})
		if err != nil {
			return nil, err
		}
		kept, err := c.NewBody(0)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(kept, res.Body); err != nil {
			return nil, err
		}
		return sallyport.Content{Type: "image", MIMEType: "image/x", Body: kept}, nil
	})
	if r.IsError || string(r.Content[0].Data) != "PUT https://x/ [] from a body" {
		t.Errorf("got %s, want the data PUT https://x/ [] from a body", r.Raw)
	}
}

func TestContents_bodyBecomesABlob(t *testing.T) {
	p := sallyport.New("t", "1", sallyport.Resource("x://y", "y", "", func(c *sallyport.Call) (sallyport.Contents, error) {
		b, err := c.NewBody(0)
		if err == nil {
			_, err = b.Write([]byte{1, 2, 3})
		}
		return sallyport.Contents{Body: b, Meta: map[string]any{"example.com/m": true}}, err
	}))
	all, err := sallyporttest.New(t, p).Read("x://y")
	if err != nil || string(all[0].Blob) != "\x01\x02\x03" || all[0].Meta["example.com/m"] != true {
		t.Errorf("got %+v, %v; want bytes 1 2 3 with _meta of example.com/m", all, err)
	}
}

// Members are matched case-sensitively, unlike in encoding/json.
func TestCall_matchesNamesCaseSensitively(t *testing.T) {
	said := func(c *sallyport.Call) string {
		return c.Method() + " " + c.Name() + " " + c.URI() + " " + string(c.Arguments()) + " " + string(c.Meta("k"))
	}
	p := sallyport.New("t", "1",
		sallyport.RawTool("f", "", `{"type":"object"}`, func(c *sallyport.Call, _ json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[{"type":"text","text":` + string(mustJSON(said(c))) + `}]}`), nil
		}),
		sallyport.RawTool("g", "", `{"type":"object"}`, func(c *sallyport.Call, _ json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("the wrong tool runs")
		}))
	h := sallyporttest.New(t, p)
	for _, other := range []string{"", `,"Name":"g"`, `,"NAME":"g","\u006eAme":"g"`, `,"Arguments":{"b":2}`, `,"argument\u017f":{"b":2}`, `,"_Meta":{"k":2}`, `,"Uri":"x://y","name\u0000":"g"`, `,"ref":null,"context":null`} {
		params := json.RawMessage(`{"name":"f","arguments":{"a":1},"_meta":{"k":1}` + other + `}`)
		got, err := h.Request("tools/call", params)
		if want := `tools/call f  {\"a\":1} 1`; err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: got %s, %v; want %s in it, no error", params, got, err, want)
		}
	}
	if _, err := h.Request("tools/call", json.RawMessage(`{"name":7}`)); err == nil || !strings.Contains(err.Error(), "params: name must be a string") {
		t.Errorf("a name that is no text: got %v, want \"params: name must be a string\" in it", err)
	}
}
