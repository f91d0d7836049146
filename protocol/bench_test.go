package protocol

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/registry"
)

// echoCatalog returns a registry with one tool that returns its argument.
func echoCatalog(t testing.TB, schema string) *registry.Registry {
	t.Helper()
	r, err := registry.New(t.Context(), registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(context.Background()) })
	manifest := `{"name":"echo","tools":[{"name":"echo","description":"echoes","inputSchema":` + schema + `}]}`
	echo := func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
		text := jsonraw.Get(params, "arguments", "text")
		out := append(make([]byte, 0, len(text)+40), `{"content":[{"type":"text","text":`...)
		return append(append(out, text...), "}]}"...), nil
	}
	if err := r.AddGo("echo", []byte(manifest), echo); err != nil {
		t.Fatal(err)
	}
	return r
}

// BenchmarkHandle measures this package's part of a request, from parsed message to response.
func BenchmarkHandle(b *testing.B) {
	const typed = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
	const call = `"method":"tools/call","params":{"name":"echo-echo","arguments":{"text":"hello"}`
	for _, bench := range []struct{ name, schema, message string }{
		{"legacy call", `{"type":"object"}`, `{"jsonrpc":"2.0","id":1,` + call + `}}`},
		{"modern call", `{"type":"object"}`, `{"jsonrpc":"2.0","id":1,` + call + `,"_meta":{` + modernMeta + `}}}`},
		{"typed call", typed, `{"jsonrpc":"2.0","id":1,` + call + `,"_meta":{` + modernMeta + `}}}`},
		{"modern list", typed, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + modernMeta + `}}}`},
		{"legacy list", typed, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
		{"ping", typed, `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c, m := benchConn(b, bench.schema, bench.message)
			b.ReportAllocs()
			for b.Loop() {
				if r := c.Handle(context.Background(), &m, nil); r.Err != nil {
					b.Fatal(r.Err)
				}
			}
		})
	}
}

// benchConn returns a Conn with a legacy session, and a parsed message for it.
func benchConn(b testing.TB, schema, message string) (*Conn, jsonrpc.Message) {
	s := NewServer(echoCatalog(b, schema), nil)
	c := s.Connect(ConnOptions{})
	b.Cleanup(c.Close)
	handle(b, c, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	return c, parse(b, message)
}

func parse(t testing.TB, text string) jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

func handle(t testing.TB, c *Conn, text string) Response {
	t.Helper()
	m := parse(t, text)
	return c.Handle(context.Background(), &m, nil)
}
