package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callMeta is call with extra _meta keys.
func callMeta(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any, meta mcp.Meta) (*mcp.CallToolResult, error) {
	t.Helper()
	return s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args, Meta: meta})
}

// raw returns the arguments for a given raw result.
func raw(result string) map[string]any {
	return map[string]any{"end": "raw", "raw": json.RawMessage(result)}
}

func TestChallenge02_outputFormat(t *testing.T) {
	s := connect(t, "", folder(t, guest(t, "effects")))
	r := call(t, s, "effects-promise", raw(`{"content":[],"structuredContent":{"n":5}}`))
	if r.IsError || fmt.Sprint(r.StructuredContent) != "map[n:5]" {
		t.Errorf("a result of the schema: got isError %v, %v, want n: 5", r.IsError, r.StructuredContent)
	}
	for _, answer := range []string{`{"content":[],"structuredContent":{"n":"five"}}`, `{"content":[],"structuredContent":{}}`, `{"content":[]}`} {
		if r := call(t, s, "effects-promise", raw(answer)); !r.IsError || kindOf(r) != "guest" || r.StructuredContent != nil {
			t.Errorf("%s: got isError %v, kind %s, %v, want kind guest without content", answer, r.IsError, kindOf(r), r.StructuredContent)
		}
	}
}

func TestChallenge04_verbosity(t *testing.T) {
	s := connect(t, "plugins: {effects: {limits: {output: 64KiB}}}", folder(t, guest(t, "effects")))
	long, _ := json.Marshal(strings.Repeat("a line of text, ünïcode\n", 10_000))
	answer := raw(`{"content":[{"type":"text","text":` + string(long) + `},{"type":"text","text":"last"}]}`)
	for _, c := range []struct {
		max  int
		want int
	}{{0, 64 << 10}, {1000, 1000}, {1 << 20, 64 << 10}} {
		meta := mcp.Meta{}
		if c.max > 0 {
			meta["dev.sallyport/maxBytes"] = c.max
		}
		r, err := callMeta(t, s, "effects-run", answer, meta)
		if err != nil {
			t.Fatal(err)
		}
		content, _ := json.Marshal(r.Content)
		if r.IsError || len(content) > c.want || len(content) < c.want/3 {
			t.Errorf("maxBytes %d: got isError %v, %d bytes, want %d to %d", c.max, r.IsError, len(content), c.want/3, c.want)
		}
		by := "limits.output"
		if c.max > 0 && c.max < 256<<10 {
			by = "dev.sallyport/maxBytes"
		}
		if !strings.Contains(text(r), "[cut: the answer has ") || !strings.Contains(text(r), " may be sent at once ("+by+")]") || strings.Contains(text(r), "\ufffd") || strings.Contains(text(r), "last") {
			t.Errorf("maxBytes %d: got %.80q, want it marked as cut by %s", c.max, text(r), by)
		}
		if first := r.Content[0].(*mcp.TextContent).Text; !strings.HasSuffix(first, "\n") {
			t.Errorf("maxBytes %d: got an end of %q, want a whole line", c.max, first[max(0, len(first)-20):])
		}
	}
	if _, err := callMeta(t, s, "effects-run", answer, mcp.Meta{"dev.sallyport/maxBytes": 5}); err == nil {
		t.Errorf("maxBytes 5: got success, want an error")
	}
}

func TestChallenge05_largeOutput(t *testing.T) {
	s := connect(t, "plugins: {effects: {limits: {output: 64KiB}}}", folder(t, guest(t, "effects")))
	want := strings.Repeat("0123456789 ünïcode\n", 20_000)
	quoted, _ := json.Marshal(want)
	r := call(t, s, "effects-run", raw(`{"content":[{"type":"text","text":`+string(quoted)+`}]}`))
	if got := readPages(t, s, linkIn(t, r)); got != want {
		t.Errorf("the pages have %d bytes, want %d", len(got), len(want))
	}
	structured := raw(`{"content":[],"structuredContent":{"text":` + string(quoted) + `}}`)
	r = call(t, s, "effects-run", structured)
	if !r.IsError || kindOf(r) != "limit" || r.StructuredContent != nil {
		t.Errorf("structured content that is too long: got isError %v, kind %s, %v, want kind limit without content", r.IsError, kindOf(r), r.StructuredContent)
	}
	if got := readPages(t, s, linkIn(t, r)); !strings.Contains(got, `"structuredContent":{"text":"0123`) || !json.Valid([]byte(got)) {
		t.Errorf("pages: got %.80q, want the whole JSON", got)
	}
	for _, uri := range []string{"sallyport://results/NONE", "sallyport://results/", linkIn(t, r) + "?offset=-1", linkIn(t, r) + "?offset=99999999"} {
		if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s: got its contents, want an error", uri)
		}
	}
}

func linkIn(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	for _, c := range r.Content {
		if l, ok := c.(*mcp.ResourceLink); ok {
			return l.URI
		}
	}
	t.Fatalf("got %.200q, want a link in it", text(r))
	return ""
}

// readPages reads a resource to its end.
func readPages(t *testing.T, s *mcp.ClientSession, uri string) string {
	t.Helper()
	var all strings.Builder
	for uri != "" {
		r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(r.Contents[0].Text)
		uri, _ = r.Contents[0].Meta["dev.sallyport/next"].(string)
	}
	return all.String()
}

func TestChallenge08_ansi(t *testing.T) {
	s := connect(t, "", folder(t, guest(t, "effects")))
	r := call(t, s, "effects-run", raw(`{"content":[{"type":"text","text":"\u001b[31mred\u001b[0m\u202e \u200bx\u0007"},
		{"type":"resource_link","uri":"https://a.example/","name":"n\u202eame"},
		{"type":"resource","resource":{"uri":"x:y","text":"kept\u200b"}}],"structuredContent":{"data":"kept\u200b"}}`))
	if got := text(r); got != "red x" {
		t.Errorf("got %q, want red x", got)
	}
	if got := r.Content[1].(*mcp.ResourceLink).Name; got != "name" {
		t.Errorf("link: got name %q, want name", got)
	}
	if got := r.Content[2].(*mcp.EmbeddedResource).Resource.Text; got != "kept\u200b" {
		t.Errorf("embedded resource: got %q, want it unchanged", got)
	}
	if got := receiptOf(t, r); got.Removed != 13 || got.Hidden != 2 {
		t.Errorf("receipt: got %d removed, %d hidden, want 13, 2", got.Removed, got.Hidden)
	}
}

func TestChallenge12_safeRetries(t *testing.T) {
	dir := hostFiles(t, nil)
	s := connect(t, "plugins: {effects: {grants: ['fs: write "+dir+"/**']}}", folder(t, guest(t, "effects")))
	meta := mcp.Meta{"dev.sallyport/idempotencyKey": t.Name() + dir}
	args := effects("", step{"do": "append", "path": dir + "/log", "text": "once "}, step{"do": "read", "path": dir + "/log"})
	for range 3 {
		r, err := callMeta(t, s, "effects-run", args, meta)
		if err != nil || lineOf(t, r, 1) != "once " {
			t.Fatalf("got %q, %v, want a log of one run", text(r), err)
		}
	}
	if got := content(dir + "/log"); got != "once " {
		t.Errorf("log: got %q, want one run", got)
	}
	if _, err := callMeta(t, s, "effects-run", effects("", step{"do": "list", "path": dir}), meta); err == nil || !strings.Contains(err.Error(), "other arguments") {
		t.Errorf("the same key with other arguments: got %v, want an error", err)
	}
	failing := mcp.Meta{"dev.sallyport/idempotencyKey": t.Name() + "failing" + dir}
	for range 2 { // a failed call may be repeated
		if r, err := callMeta(t, s, "effects-run", effects("error"), failing); err != nil || !r.IsError {
			t.Fatal(err)
		}
	}
	if r, err := callMeta(t, s, "effects-run", effects("error", step{"do": "list", "path": dir}), failing); err != nil || !strings.Contains(text(r), "log") {
		t.Errorf("the same key after a failure: got %s, %v, want a new run", text(r), err)
	}
}

func TestChallenge14_validationFirst(t *testing.T) {
	dir := hostFiles(t, map[string]string{"a": "A"})
	s := connect(t, "plugins: {effects: {grants: ['fs: write "+dir+"/**', 'kv: 1KiB', 'net: POST http://localhost:1/x']}}", folder(t, guest(t, "effects")))
	if r := call(t, s, "effects-run", map[string]any{"steps": 5}); !r.IsError || kindOf(r) != "invalid" {
		t.Errorf("wrong arguments: got %s, kind %s, want invalid", text(r), kindOf(r))
	}
	args := effects("", step{"do": "write", "path": dir + "/a", "text": "new"}, step{"do": "remove", "path": dir + "/a"},
		step{"do": "write", "path": dir + "/n", "text": "new"}, step{"do": "read", "path": dir + "/n"},
		step{"do": "ask", "text": "kv/set", "params": map[string]any{"key": dir, "value": 1}},
		step{"do": "ask", "text": "http/fetch", "params": map[string]any{"method": "POST", "url": "http://localhost:1/x"}})
	r, err := callMeta(t, s, "effects-run", args, mcp.Meta{"dev.sallyport/dryRun": true})
	if err != nil {
		t.Fatal(err)
	}
	if got := lineOf(t, r, 3); got != "new" {
		t.Errorf("read in the call: got %q, want new", got)
	}
	if got := content(dir+"/a") + content(dir+"/n"); got != "Anone" {
		t.Errorf("got %s on the host, want A and none", got)
	}
	would := strings.Join(receiptOf(t, r).Would, "; ")
	for _, want := range []string{"remove " + dir + "/a", "write " + dir + "/n (3 bytes)", "keep or remove 1 keys", "POST http://localhost:1/x"} {
		if !strings.Contains(would, want) {
			t.Errorf("it does not say %q: %s", want, would)
		}
	}
	again := call(t, s, "effects-run", effects("", step{"do": "ask", "text": "kv/get", "params": map[string]any{"key": dir}}))
	if got := text(again); !strings.Contains(got, `"value":null`) {
		t.Errorf("after a dry run: got key %s, want a null value", got)
	}
}

func TestChallenge23_destructiveOperations(t *testing.T) {
	dir := hostFiles(t, map[string]string{"a": "A"})
	s := connect(t, "plugins: {effects: {grants: ['fs: write "+dir+"/**', 'kv: 1KiB', 'net: POST http://localhost:1/x']}}", folder(t, guest(t, "effects")))
	args := effects("", step{"do": "read", "path": dir + "/a"}, step{"do": "write", "path": dir + "/a", "text": "new"},
		step{"do": "remove", "path": dir + "/a"},
		step{"do": "ask", "text": "kv/set", "params": map[string]any{"key": dir, "value": 1}},
		step{"do": "ask", "text": "http/fetch", "params": map[string]any{"method": "POST", "url": "http://localhost:1/x"}})
	r := call(t, s, "effects-look", args)
	if got := lineOf(t, r, 0); got != "A" {
		t.Errorf("read: got %s, want A", got)
	}
	if got := len(receiptOf(t, r).Denials); got < 3 {
		t.Errorf("got %d denials, want 3 or more: %s", got, text(r))
	}
	if got := content(dir + "/a"); got != "A" {
		t.Errorf("after a read-only tool: got %q, want A", got)
	}
	call(t, s, "effects-run", args)
	if got := content(dir + "/a"); got != "none" {
		t.Errorf("after the other tool, under the same grants: got %q, want none", got)
	}
}
