package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A listener in one process is notified of a task that a second one runs, and that a third continues after the second
// was killed.
func TestTaskListen_hearsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 9)
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }))
	defer upstream.Close()
	config := fmt.Sprintf("plugins: {effects: {limits: {deadline: 60s}, grants: [elicitation, {net: 'POST %s/**', idempotent: true}]}}", upstream.URL)
	plugins, state := folder(t, guest(t, "effects")), filepath.Join(t.TempDir(), "state")
	start := func() *lineClient {
		cmd := program(t, config, "serve", plugins)
		ownState(cmd, state)
		return startLines(t, cmd)
	}
	runs, listens := start(), start()
	question := step{"do": "ask", "text": "elicitation/create", "params": map[string]any{
		"message": "Go on?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}}}}
	v, refused, err := runs.ask("tools/call", map[string]any{"name": "effects-job", "arguments": effects("", question,
		step{"do": "fetch", "params": map[string]any{"method": "POST", "url": upstream.URL + "/x"}}, step{"do": "sleep", "times": 1000})})
	if err != nil || v.ResultType != "task" {
		t.Fatalf("got %+v, %s, %v, want %q", v, refused, err, "task")
	}
	id := v.TaskID
	for v.Status != "input_required" {
		if v, _, err = runs.ask("tasks/get", map[string]any{"taskId": id}); err != nil {
			t.Fatal(err)
		}
	}
	listens.listen(t, id)
	answers := map[string]any{}
	for key := range v.InputRequests {
		answers[key] = map[string]any{"action": "accept", "content": map[string]any{"ok": true}}
	}
	if _, refused, err := runs.ask("tasks/update", map[string]any{"taskId": id, "inputResponses": answers}); refused != "" || err != nil {
		t.Fatal(refused, err)
	}
	soon(t, arrived)
	if err := runs.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = runs.end() // it was killed
	third := start()
	if got := listens.heardOf(t, id); !slices.Equal(got, []string{"input_required", "working", "completed"}) {
		t.Errorf("heard %v", got)
	}
	for _, c := range []*lineClient{listens, third} {
		if err := c.end(); err != nil {
			t.Error(err)
		}
	}
}

// heldTo are tasks of the conformance plugin, the requests that continue them, and the expected statuses.
var heldTo = []struct {
	tool      string
	arguments map[string]any
	move      string // a request that continues it
	want      []string
	member    string // a member of the last notification
}{
	{"slow_compute", map[string]any{"seconds": 0.5}, "", []string{"completed"}, "result"},
	{"failing_job", map[string]any{}, "", []string{"completed"}, "result"},
	{"protocol_error_job", map[string]any{}, "", []string{"failed"}, "error"},
	{"confirm_delete", map[string]any{"filename": "x"}, "tasks/update", []string{"input_required", "working", "completed"}, "result"},
	{"slow_compute", map[string]any{"seconds": 60}, "tasks/cancel", []string{"cancelled"}, ""},
}

// Replaces the checks that the public suite lacks in tasks-status-notifications: over HTTP there is one notification
// for each change, with the task, its status and the members that belong to that.
func TestTaskListen_notifiesOfEachChangeOverHTTP(t *testing.T) {
	config, err := os.ReadFile(filepath.Join("..", "..", "plugins", "conformance", "sallyport.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	url := serveURL(t, string(config), folder(t, bundled(t, "conformance")), "--no-token")
	for _, c := range heldTo {
		t.Run(c.tool, func(t *testing.T) {
			created := postTask(t, url, "tools/call", c.tool, map[string]any{"name": c.tool, "arguments": c.arguments})
			var begun struct{ Result taskView }
			if err := json.NewDecoder(created.Body).Decode(&begun); err != nil || begun.Result.TaskID == "" {
				t.Fatalf("got %+v, %v", begun, err)
			}
			id := begun.Result.TaskID
			stream := postTask(t, url, "subscriptions/listen", "", map[string]any{"notifications": map[string]any{"taskIds": []string{id, "guess"}}})
			lines, heard := bufio.NewScanner(stream.Body), []string(nil)
			for lines.Scan() && !slices.Equal(heard, c.want) {
				data, found := strings.CutPrefix(lines.Text(), "data: ")
				if !found {
					continue
				}
				var m struct {
					Method string
					Params map[string]json.RawMessage
				}
				if err := json.Unmarshal([]byte(data), &m); err != nil {
					t.Fatal(err)
				}
				if m.Method == "notifications/subscriptions/acknowledged" {
					if got := string(m.Params["notifications"]); got != fmt.Sprintf(`{"taskIds":[%q]}`, id) {
						t.Errorf("acknowledged %s", got)
					}
				} else {
					if string(m.Params["taskId"]) != fmt.Sprintf("%q", id) || m.Method != "notifications/tasks" {
						t.Fatalf("got %s, want %q, %q", data, fmt.Sprintf("%q", id), "notifications/tasks")
					}
					heard = append(heard, strings.Trim(string(m.Params["status"]), `"`))
				}
				if c.move != "" && len(heard) == len(c.want)/2 { // cancelled at once, or answered when it asks
					postTask(t, url, c.move, id, map[string]any{"taskId": id, "inputResponses": map[string]any{
						onlyKey(m.Params["inputRequests"]): map[string]any{"action": "accept", "content": map[string]any{"confirm": true}}}})
				}
				if slices.Equal(heard, c.want) && c.member != "" && m.Params[c.member] == nil {
					t.Errorf("no %s in %s", c.member, data)
				}
			}
			if !slices.Equal(heard, c.want) {
				t.Errorf("heard %v, want %v: %v", heard, c.want, lines.Err())
			}
		})
	}
}
