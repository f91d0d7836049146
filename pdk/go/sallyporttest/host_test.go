package sallyporttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

// failing is a testing.TB that records failures.
type failing struct {
	testing.TB
	failed string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.failed = fmt.Sprintf(format, args...)
	panic(f)
}

func TestHost_failsTheTestOnMisuse(t *testing.T) {
	p := sallyport.New("t", "1",
		sallyport.Tool("text", "", func(*sallyport.Call, sallyport.None) (string, error) { return "x", nil }),
		sallyport.Tool("twice", "", func(c *sallyport.Call, _ sallyport.None) ([]sallyport.Content, error) {
			b, err := c.NewBody(0)
			one := sallyport.Content{Type: "image", Body: b}
			return []sallyport.Content{one, one}, err
		}),
		sallyport.Tool("raw", "", func(*sallyport.Call, sallyport.None) (sallyport.RawResult, error) {
			return sallyport.RawResult(`7`), nil
		}))
	for want, f := range map[string]func(h *Host){
		"tool absent: unknown tool: absent":              func(h *Host) { h.Call("absent", nil) },
		"no structured content in":                       func(h *Host) { h.Call("text", nil).Into(new(int)) },
		"tools/call: stream 2 is not one that this call": func(h *Host) { h.Call("twice", nil) },
		"tools/call: the response has no result":         func(h *Host) { h.Call("raw", nil) },
		"x: params: json: unsupported type: chan int":    func(h *Host) { _, _ = h.Request("x", make(chan int)) },
	} {
		tb := &failing{TB: t}
		func() {
			defer func() { recover() }()
			f(New(tb, p))
		}()
		if !strings.HasPrefix(tb.failed, want) {
			t.Errorf("want %q, got %q", want, tb.failed)
		}
	}
}

func TestWire_refusesUnknownStreams(t *testing.T) {
	w := newWire(New(t, nil), []byte("abc"))
	if n := w.Read(9, make([]byte, 1)); n != -int32(sallyport.ErrnoBadStream) {
		t.Errorf("read: got %d, want %d", n, -int32(sallyport.ErrnoBadStream))
	}
	if n := w.Write(0, []byte("x")); n != -int32(sallyport.ErrnoBadStream) {
		t.Errorf("write to the request: got %d, want %d", n, -int32(sallyport.ErrnoBadStream))
	}
	if n := w.Close(9); n != -int32(sallyport.ErrnoBadStream) {
		t.Errorf("close: got %d, want %d", n, -int32(sallyport.ErrnoBadStream))
	}
	if n := w.Read(0, make([]byte, 9)); n != 3 {
		t.Errorf("the request: got %d, want 3", n)
	}
}

func TestHost_answersRequestsOfThePlugin(t *testing.T) {
	p := sallyport.New("t", "1", sallyport.Tool("f", "", func(c *sallyport.Call, _ sallyport.None) (string, error) {
		return "", c.Ask("m", nil, nil)
	}))
	h := New(t, p)
	if r := h.Call("f", nil); !r.IsError || r.Text() != "m is not granted" || len(h.Asked()) != 1 {
		t.Errorf("without an answer: got %s, asked %v; want an error that m is not granted, one asked", r.Raw, h.Asked())
	}
	h.Answer("m", func(json.RawMessage) (any, error) { return nil, errors.New("down") })
	if r := h.Call("f", nil); r.Text() != "down" {
		t.Errorf("answer that fails: got %s, want \"down\"", r.Raw)
	}
	h.Answer("m", func(json.RawMessage) (any, error) { return make(chan int), nil })
	if r := h.Call("f", nil); !strings.Contains(r.Text(), "unsupported type") {
		t.Errorf("answer without JSON: got %s, want \"unsupported type\" in it", r.Raw)
	}
	h.Answer("m", func(json.RawMessage) (any, error) { return 1, nil })
	if r := h.Call("f", nil); r.IsError {
		t.Errorf("answer: got %s, want no error", r.Raw)
	}
}
