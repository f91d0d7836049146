package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

// A plugin with state waits in its instance for an answer: it is not run again, with any memory content, and only the
// process with the instance can continue it.
func TestParkedCall_continuesInItsInstance(t *testing.T) {
	var posts atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posts.Add(1) }))
	defer upstream.Close()
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte(base64.StdEncoding.EncodeToString(sealed.RandomKey())), 0o600); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("state_keys: %s\nplugins: {effects: {state: plugin, limits: {deadline: 60s}, grants: [elicitation, 'net: POST %s/**']}}", keys, upstream.URL)
	plugins := folder(t, guest(t, "effects"))
	start := func() *lineClient { return startLines(t, program(t, config, "serve", plugins)) }
	one, other := start(), start()
	question := step{"do": "ask", "text": "elicitation/create", "params": map[string]any{
		"message": "Go on?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}}}}
	post := step{"do": "fetch", "params": map[string]any{"method": "POST", "url": upstream.URL + "/x"}}
	call := func(c *lineClient, arguments map[string]any, state string, answers map[string]any) (taskView, string) {
		t.Helper()
		params := map[string]any{"name": "effects-run", "arguments": arguments}
		if state != "" {
			params["requestState"], params["inputResponses"] = state, answers
		}
		v, refused, err := c.ask("tools/call", params)
		if err != nil {
			t.Fatal(err)
		}
		return v, refused
	}
	answersTo := func(v taskView, action string) map[string]any {
		answers := map[string]any{}
		for key := range v.InputRequests {
			answers[key] = map[string]any{"action": action, "content": map[string]any{"ok": true}}
		}
		return answers
	}
	arguments := effects("", step{"do": "count"}, post, question, step{"do": "count"}, question, step{"do": "count"})
	first, _ := call(one, arguments, "", nil)
	if first.ResultType != "input_required" || first.RequestState == "" {
		t.Fatalf("got %+v, want %q", first, "input_required")
	}
	if _, refused := call(other, arguments, first.RequestState, answersTo(first, "accept")); !strings.Contains(refused, "waits no longer, or in another process") {
		t.Errorf("another process: got %q, want a refusal", refused)
	}
	if _, refused := call(one, effects("", post), first.RequestState, answersTo(first, "accept")); !strings.Contains(refused, "another request") {
		t.Errorf("other arguments: got %q, want a refusal", refused)
	}
	again, _ := call(one, arguments, first.RequestState, map[string]any{"none": map[string]any{}})
	if again.ResultType != "input_required" || len(again.InputRequests) != 1 {
		t.Errorf("no answer: got %+v, want the same question", again)
	}
	second, _ := call(one, arguments, again.RequestState, answersTo(again, "accept"))
	if second.ResultType != "input_required" {
		t.Fatalf("got %+v, want %q", second, "input_required")
	}
	if v, _ := call(one, arguments, first.RequestState, answersTo(first, "accept")); v.RequestState != second.RequestState {
		t.Errorf("a used state: got %+v, want state %s", v, second.RequestState)
	}
	last, _ := call(one, arguments, second.RequestState, answersTo(second, "decline"))
	if last.ResultType != "complete" || len(last.Result.Content) > 0 {
		t.Errorf("got %+v, want %q", last, "complete")
	}
	text := last.Content[0].Text
	if !strings.Contains(text, "count: 1\n") || !strings.Contains(text, "count: 2\n") || !strings.HasSuffix(text, "count: 3") || !strings.Contains(text, "decline") {
		t.Errorf("got %s, want counts 1, 2 and 3 and a decline", text)
	}
	if n := posts.Load(); n != 1 {
		t.Errorf("got %d posts, want 1", n)
	}
	for _, c := range []*lineClient{one, other} {
		if err := c.end(); err != nil {
			t.Error(err)
		}
	}
}
