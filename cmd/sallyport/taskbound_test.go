package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// refusedTask returns the error of a call that did not become a task.
func (c *lineClient) refusedTask(t *testing.T, arguments map[string]any) (text string, retryable bool) {
	t.Helper()
	v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-job", "arguments": arguments})
	if err != nil || refused != "" || v.TaskID != "" || !v.IsError || len(v.Content) == 0 {
		t.Fatalf("got %+v, %s, %v, want %q, %q", v, refused, err, "", "")
	}
	return v.Content[0].Text, v.Meta.Error.Retryable
}

// openTask starts a task and returns its ID.
func (c *lineClient) openTask(t *testing.T, arguments map[string]any) string {
	t.Helper()
	v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-job", "arguments": arguments})
	if err != nil || refused != "" || v.TaskID == "" {
		t.Fatalf("got %+v, %s, %v, want %q", v, refused, err, "")
	}
	return v.TaskID
}

// A caller over its limit of running tasks gets no task. Tasks that wait for answers do not count, and a finished one
// makes room.
func TestTask_refusesOverTheLimit(t *testing.T) {
	cmd := program(t, "limits: {tasks: 3}\nplugins: {effects: {limits: {deadline: 60s}, grants: [elicitation]}}", "serve", folder(t, guest(t, "effects")))
	ownState(cmd, filepath.Join(t.TempDir(), "state"))
	c := startLines(t, cmd)
	sleeps := effects("", step{"do": "sleep", "times": 60_000})
	for range 4 {
		c.until(t, c.openTask(t, effects("", question)), "input_required")
	}
	var ids []string
	for range 3 {
		ids = append(ids, c.openTask(t, sleeps))
	}
	if text, retryable := c.refusedTask(t, sleeps); !strings.Contains(text, "there is no room for another task: too many tasks are going on: 3 are the most") || !retryable {
		t.Error(text, retryable)
	}
	if _, refused, err := c.ask("tasks/cancel", map[string]any{"taskId": ids[1]}); refused != "" || err != nil {
		t.Fatal(refused, err)
	}
	c.openTask(t, sleeps)
	c.refusedTask(t, sleeps)
	if err := c.end(); err != nil {
		t.Error(err)
	}
}
