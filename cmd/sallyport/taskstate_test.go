package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var question = step{"do": "ask", "text": "elicitation/create", "params": map[string]any{
	"message": "Go on?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}}}}

// A task of a plugin with state keeps its instance to the end: it is answered through any process, sees the state of
// other calls, and fails when its process has exited.
func TestTask_keepsItsInstance(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"plugin", "session"} {
		t.Run(state, func(t *testing.T) {
			config := fmt.Sprintf("plugins: {effects: {state: %s, limits: {deadline: 60s}, grants: [elicitation]}}", state)
			plugins, folder := folder(t, guest(t, "effects")), filepath.Join(t.TempDir(), "state")
			start := func() *lineClient {
				cmd := program(t, config, "serve", plugins)
				ownState(cmd, folder)
				return startLines(t, cmd)
			}
			one, other := start(), start()
			count := step{"do": "count"}
			open := func(steps ...step) string {
				t.Helper()
				v, refused, err := one.ask("tools/call", map[string]any{"name": "effects-job", "arguments": effects("", steps...)})
				if err != nil || v.ResultType != "task" {
					t.Fatalf("got %+v, %s, %v, want %q", v, refused, err, "task")
				}
				return v.TaskID
			}
			if v, refused, err := one.ask("tools/call", map[string]any{"name": "effects-run", "arguments": effects("", count)}); err != nil || refused != "" || len(v.Content) == 0 {
				t.Fatalf("got %+v, %s, %v, want no error", v, refused, err)
			}
			id := open(count, question, count, question, count)
			for range 2 {
				v := one.until(t, id, "input_required")
				if _, refused, err := other.ask("tasks/update", map[string]any{"taskId": id, "inputResponses": answersTo(v)}); refused != "" || err != nil {
					t.Fatal(refused, err)
				}
			}
			text := other.until(t, id, "completed").Result.Content[0].Text
			if !strings.Contains(text, "count: 2\n") || !strings.Contains(text, "count: 3\n") || !strings.HasSuffix(text, "count: 4") {
				t.Errorf("got %s, want counts 2, 3 and 4", text)
			}

			waits := open(question)
			one.until(t, waits, "input_required")
			works := open(step{"do": "sleep", "times": 60_000}) // behind it in the instance
			if err := one.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = one.end() // it was killed
			for _, id := range []string{waits, works} {
				v := other.until(t, id, "failed")
				if !strings.Contains(v.Error.Message, "its plugin's memory with it") || !strings.Contains(v.Error.Message, "may be called again") || !v.Error.Data.Retryable {
					t.Errorf("got %+v, want %q in it, %q in it", v.Error, "its plugin's memory with it", "may be called again")
				}
			}
			if _, refused, err := other.ask("tasks/update", map[string]any{"taskId": waits, "inputResponses": map[string]any{}}); refused != "" || err != nil {
				t.Error(refused, err)
			}
			if err := other.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Tasks of plugins with state are few, since each has an instance. When their host stops they fail.
func TestTask_withStateIsBounded(t *testing.T) {
	t.Parallel()
	config := "plugins: {effects: {state: plugin, limits: {deadline: 60s}, grants: [elicitation]}}"
	plugins, state := folder(t, guest(t, "effects")), filepath.Join(t.TempDir(), "state")
	start := func() *lineClient {
		cmd := program(t, config, "serve", plugins)
		ownState(cmd, state)
		return startLines(t, cmd)
	}
	c := start()
	var ids []string
	for len(ids) < 33 {
		v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-job", "arguments": effects("", question)})
		if err != nil || refused != "" {
			t.Fatal(refused, err)
		}
		if v.ResultType != "task" {
			if len(ids) != 32 || !strings.Contains(v.Content[0].Text, "32 tasks of plugins that keep state are going on, which is the most") {
				t.Errorf("after %d tasks: got %+v, want 32 tasks and a refusal of the next", len(ids), v)
			}
			break
		}
		ids = append(ids, v.TaskID)
	}
	asks := func() (asking string) { // the task with the instance
		t.Helper()
		eventually(t, "a task asks", func() bool {
			i := slices.IndexFunc(ids, func(id string) bool {
				v, _, err := c.ask("tasks/get", map[string]any{"taskId": id})
				if err != nil {
					t.Fatal(err)
				}
				return v.Status == "input_required"
			})
			if i >= 0 {
				asking = ids[i]
			}
			return i >= 0
		})
		return asking
	}
	first := asks()
	if _, _, err := c.ask("tasks/cancel", map[string]any{"taskId": first}); err != nil {
		t.Fatal(err)
	}
	if asks() == first {
		t.Errorf("a cancelled task: got the question it asked, want none")
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	c = start()
	for i, id := range ids {
		if id == first {
			continue
		}
		if v := c.until(t, id, "failed"); !strings.Contains(v.Error.Message, "the host ended while this task ran") {
			t.Errorf("task %d: got %+v, want it failed by the host's end", i, v)
		}
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}
