package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A caller over its limit of running tasks gets no task. Tasks that wait for answers do not count, and a finished one
// makes room.
func TestTask_refusesOverTheLimit(t *testing.T) {
	t.Parallel()
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
