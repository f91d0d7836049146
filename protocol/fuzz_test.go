package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// checkBody checks the invariants of every response: one line of JSON, the same id, a result or an error.
func checkBody(t *testing.T, id json.RawMessage, r Response) {
	t.Helper()
	if r.Body == nil {
		return
	}
	m, err := jsonrpc.Parse(r.Body)
	if err != nil || bytes.ContainsAny(r.Body, "\r\n") || !m.IsResponse() || !bytes.Equal(m.ID, id) {
		t.Fatalf("%v: %s", err, r.Body)
	}
	if (m.Error != nil) != (r.Err != nil) {
		t.Fatalf("got error %v and body %s, want both or none", r.Err, r.Body)
	}
	if path, found := jsonraw.DuplicateKey(r.Body); found && path == "/result" {
		t.Fatalf("got a member twice: %s", r.Body)
	}
}

// FuzzHandle checks that every message gets a valid response or none.
func FuzzHandle(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":"x","_meta":{` + modernMeta + `}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t-sum","arguments":{"a":1},"_meta":{` + modernMeta + `}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"t-args"},"argument":{"name":"a","value":""},"_meta":{` + modernMeta + `}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
	} {
		f.Add([]byte(s))
	}
	s := NewServer(newCatalog(f, (&player{}).obey), nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("notify")) || bytes.Contains(data, []byte("wait")) || bytes.Contains(data, []byte("fail")) {
			return // directives to the plugin of these tests
		}
		c := s.Connect(ConnOptions{})
		defer c.Close()
		if jsonrpc.IsBatch(data) {
			handle(t, c, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`)
			if r := c.HandleBatch(context.Background(), data, nil); r.Body != nil && jsonraw.Valid(r.Body) != nil {
				t.Fatalf("got invalid JSON: %s", r.Body)
			}
			return
		}
		m, err := jsonrpc.Parse(data)
		if err != nil {
			return
		}
		checkBody(t, m.ID, c.Handle(context.Background(), &m, func([]byte) {}))
	})
}

// FuzzResult checks that every plugin answer gives a valid response to a valid client.
func FuzzResult(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"a"}]}`, `{"content":[],"_meta":{"dev.mcp/x":1}}`, `{"structuredContent":[1]}`, `{"structuredContent":"\ud800"}`,
		`{"contents":[{"uri":"a:b","text":"t"}],"ttlMs":5}`, `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}`,
		`{"completion":{"values":["a"]}}`, `{"content":[],"resultType":"task"}`, "{\n\"content\": []\r\n}", `null`, ``, "\xff",
	} {
		f.Add([]byte(s))
	}
	var answer []byte
	s := NewServer(newCatalog(f, func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return bytes.Clone(answer), nil
	}), nil)
	c := s.Connect(ConnOptions{})
	modern, legacy := `,"_meta":{`+modernMeta+`}}}`, `}}`
	handle(f, c, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		answer = data
		for _, request := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t-any"`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t-typed"`,
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://text"`,
			`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"t-plain"`,
			`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"t-plain"},"argument":{"name":"a","value":""}`,
		} {
			r := handle(t, c, request+modern)
			checkBody(t, json.RawMessage("1"), r)
			if r.Err == nil && string(jsonraw.Get(r.Body, "result", "resultType")) != `"complete"` {
				t.Fatalf("got %s, want a modern result", r.Body)
			}
			r = handle(t, c, request+legacy)
			checkBody(t, json.RawMessage("1"), r)
			if jsonraw.Get(r.Body, "result", "resultType") != nil {
				t.Fatalf("got %s, want a legacy result", r.Body)
			}
		}
	})
}
