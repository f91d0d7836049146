package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// A task with an idempotency key continues after its host was killed. A repeated call with the key returns the same
// task, also while it waits and after its end.
func TestTask_withAKeyContinuesAfterAKill(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 9)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		fmt.Fprint(w, "done")
	}))
	defer upstream.Close()
	config := fmt.Sprintf("plugins: {effects: {limits: {deadline: 60s}, grants: [elicitation, 'net: POST %s/**']}}", upstream.URL)
	plugins, state := folder(t, guest(t, "effects")), filepath.Join(t.TempDir(), "state")
	start := func() *lineClient {
		cmd := program(t, config, "serve", plugins)
		ownState(cmd, state)
		return startLines(t, cmd)
	}
	kill := func(c *lineClient) {
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.end() // it was killed
	}
	c := start()
	post := step{"do": "fetch", "params": map[string]any{"method": "POST", "url": upstream.URL + "/x"}}
	question := step{"do": "ask", "text": "elicitation/create", "params": map[string]any{
		"message": "Go on?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}}}}
	call := func() map[string]any {
		return map[string]any{"name": "effects-job", "arguments": effects("", step{"do": "sleep", "times": 1000}, question, post, step{"do": "sleep", "times": 1000})}
	}
	id := c.askOnce(t, "k", call()).TaskID
	kill(c)
	c = start()
	v := c.wait(t, id)
	if v.Status != "input_required" {
		t.Fatalf("killed before its question: got %+v, want input_required", v)
	}
	if again := c.askOnce(t, "k", call()); again.TaskID != id || again.Status != "input_required" {
		t.Errorf("called again while it waits: got %+v, want task %s, input_required", again, id)
	}
	answers := map[string]any{}
	for key := range v.InputRequests {
		answers[key] = map[string]any{"action": "accept", "content": map[string]any{"ok": true}}
	}
	if _, refused, err := c.ask("tasks/update", map[string]any{"taskId": id, "inputResponses": answers}); refused != "" || err != nil {
		t.Fatal(refused, err)
	}
	soon(t, arrived)
	if v = c.wait(t, id); v.Status != "completed" || v.Result.IsError || !strings.Contains(v.Result.Content[0].Text, "done") {
		t.Errorf("got %+v, want %q, %q in it", v, "completed", "done")
	}
	kill(c)
	c = start()
	if again := c.askOnce(t, "k", call()); again.TaskID != id || again.Status != "completed" {
		t.Errorf("called again after its end: got %+v, want task %s, completed", again, id)
	}
	if other := c.askOnce(t, "other", call()); other.TaskID == id {
		t.Errorf("another key: got task %s again, want a new one", other.TaskID)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	if n := len(arrived); n != 0 {
		t.Errorf("got %d more requests, want none", n)
	}
}
