package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"testing"
)

// lineClient talks to the program over stdio, one request at a time.
type lineClient struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	n   int
}

func startLines(t *testing.T, cmd *exec.Cmd) *lineClient {
	t.Helper()
	c := &lineClient{cmd: cmd}
	in, out := piped(t, cmd)
	c.in, c.out = in, bufio.NewReader(out)
	return c
}

// end closes the program's input and waits for its exit.
func (c *lineClient) end() error {
	return errors.Join(c.in.Close(), c.cmd.Wait())
}

// taskCaps is the _meta of a client with tasks and elicitation.
var taskCaps = map[string]any{
	"io.modelcontextprotocol/protocolVersion": "2026-07-28",
	"io.modelcontextprotocol/clientCapabilities": map[string]any{
		"elicitation": map[string]any{}, "extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}},
	},
}

// taskView is a task in a response.
type taskView struct {
	TaskID, Status, StatusMessage, ResultType string
	RequestState                              string
	InputRequests                             map[string]json.RawMessage
	Result                                    struct {
		Content []struct{ Text string }
		IsError bool
	}
	Content []struct{ Text string }
	IsError bool
	Meta    struct {
		Error struct{ Retryable bool } `json:"dev.sallyport/error"`
	} `json:"_meta"`
	Error struct {
		Message string
		Data    struct {
			Retryable      bool
			UnknownOutcome bool `json:"unknown_outcome"`
			Request        string
		}
	}
}

// ask sends a request and returns its result. err is an error of the connection; a JSON-RPC error is in refused.
func (c *lineClient) ask(method string, params map[string]any) (v taskView, refused string, err error) {
	c.n++
	if params["_meta"] == nil {
		params["_meta"] = taskCaps
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.n, "method": method, "params": params})
	if err != nil {
		return v, "", err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return v, "", err
	}
	raw, err := c.out.ReadBytes('\n')
	if err != nil {
		return v, "", err
	}
	var answer struct {
		Result taskView
		Error  struct{ Message string }
	}
	err = json.Unmarshal(raw, &answer)
	return answer.Result, answer.Error.Message, err
}

// refusedTask returns the error of a call that did not become a task.
func (c *lineClient) refusedTask(t *testing.T, arguments map[string]any) (text string, retryable bool) {
	t.Helper()
	v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-job", "arguments": arguments})
	if err != nil || refused != "" || v.TaskID != "" || !v.IsError || len(v.Content) == 0 {
		t.Fatalf("got %+v, %s, %v, want no error", v, refused, err)
	}
	return v.Content[0].Text, v.Meta.Error.Retryable
}

// openTask starts a task and returns its ID.
func (c *lineClient) openTask(t *testing.T, arguments map[string]any) string {
	t.Helper()
	v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-job", "arguments": arguments})
	if err != nil || refused != "" || v.TaskID == "" {
		t.Fatalf("got %+v, %s, %v, want no error", v, refused, err)
	}
	return v.TaskID
}

// askOnce is ask with an idempotency key.
func (c *lineClient) askOnce(t *testing.T, key string, params map[string]any) taskView {
	t.Helper()
	meta := maps.Clone(taskCaps)
	meta["dev.sallyport/idempotencyKey"] = key
	params["_meta"] = meta
	v, refused, err := c.ask("tools/call", params)
	if err != nil || refused != "" {
		t.Fatal(refused, err)
	}
	return v
}

// wait polls a task until its status is not working.
func (c *lineClient) wait(t *testing.T, id string) taskView {
	t.Helper()
	var v taskView
	eventually(t, "the task does not work any more", func() bool {
		var refused string
		var err error
		if v, refused, err = c.ask("tasks/get", map[string]any{"taskId": id}); err != nil || refused != "" {
			t.Fatal(refused, err)
		}
		return v.Status != "working"
	})
	return v
}

// until polls a task until it has a status.
func (c *lineClient) until(t *testing.T, id, status string) taskView {
	t.Helper()
	var v taskView
	eventually(t, "the task is "+status, func() bool {
		var refused string
		var err error
		if v, refused, err = c.ask("tasks/get", map[string]any{"taskId": id}); err != nil || refused != "" {
			t.Fatal(refused, err)
		}
		return v.Status == status
	})
	return v
}

// answersTo accepts all questions of a task.
func answersTo(v taskView) map[string]any {
	answers := map[string]any{}
	for key := range v.InputRequests {
		answers[key] = map[string]any{"action": "accept", "content": map[string]any{"ok": true}}
	}
	return answers
}

// heardOf reads notifications until the task has ended, and returns its statuses.
func (c *lineClient) heardOf(t *testing.T, id string) (statuses []string) {
	t.Helper()
	for {
		raw, err := c.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("%v, after %v", err, statuses)
		}
		var m struct {
			Method string
			Params taskView
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		if m.Method != "notifications/tasks" || m.Params.TaskID != id {
			continue
		}
		statuses = append(statuses, m.Params.Status)
		switch m.Params.Status {
		case "completed", "failed", "cancelled":
			return statuses
		}
	}
}

// listen subscribes to a task and reads the acknowledgement.
func (c *lineClient) listen(t *testing.T, id string) {
	t.Helper()
	c.n++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.n, "method": "subscriptions/listen",
		"params": map[string]any{"notifications": map[string]any{"taskIds": []string{id}}, "_meta": taskCaps}})
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.out.ReadBytes('\n')
	var m struct {
		Method string
		Params struct{ Notifications struct{ TaskIDs []string } }
	}
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil || m.Method != "notifications/subscriptions/acknowledged" || !slices.Equal(m.Params.Notifications.TaskIDs, []string{id}) {
		t.Fatalf("got %s, %v, want %q, %v", raw, err, "notifications/subscriptions/acknowledged", []string{id})
	}
}

func onlyKey(object json.RawMessage) (key string) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(object, &members) // stays nil if absent
	for key = range members {
	}
	return key
}

// postTask sends one request of a client with tasks.
func postTask(t *testing.T, url, method, name string, params map[string]any) *http.Response {
	t.Helper()
	if params["_meta"] == nil {
		params["_meta"] = taskCaps
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	r, err := modernRequest(url, method, name, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}
