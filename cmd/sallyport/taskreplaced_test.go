//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// marked returns a module with an extra custom section: its behaviour is the same, its digest is not.
func marked(t *testing.T, file, mark string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	section := append([]byte{byte(len(mark))}, mark...)
	return append(append(wasm, 0, byte(len(section))), section...)
}

// A task whose plugin file is replaced while it waits continues with the approved bytes, also after a restart. If the
// new bytes are approved, or the file is removed, it fails with an explanation.
func TestTask_continuesWithApprovedBytes(t *testing.T) {
	t.Parallel()
	original := guest(t, "effects")
	dir, state := folder(t, original), filepath.Join(t.TempDir(), "state")
	file := filepath.Join(dir, filepath.Base(original))
	start := func() *lineClient {
		cmd := program(t, "plugins: {effects: {grants: [elicitation, kv: 1MiB]}}", "serve", dir)
		ownState(cmd, state)
		return startLines(t, cmd)
	}
	c := start()
	open := func(steps ...step) string {
		t.Helper()
		v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-job", "arguments": effects("", append(steps, question)...)})
		if err != nil || v.ResultType != "task" {
			t.Fatalf("got %+v, %s, %v, want %q", v, refused, err, "task")
		}
		c.until(t, v.TaskID, "input_required")
		return v.TaskID
	}
	goOn := func(id, status string) taskView {
		t.Helper()
		v := c.until(t, id, "input_required")
		if _, refused, err := c.ask("tasks/update", map[string]any{"taskId": id, "inputResponses": answersTo(v)}); refused != "" || err != nil {
			t.Fatal(refused, err)
		}
		return c.until(t, id, status)
	}
	restart := func() {
		if err := c.end(); err != nil {
			t.Error(err)
		}
		c = start()
	}
	status := func(flags ...string) string { // the plugin's status in list
		list := program(t, "", append([]string{"list", dir}, flags...)...)
		ownState(list, state)
		out, err := list.CombinedOutput()
		if err != nil {
			t.Log(err)
		}
		return string(out)
	}
	held, later, approved, gone := open(), open(), open(), open()
	eventually(t, "pinned", func() bool { return strings.Contains(status("--locked"), "loaded") })
	put(t, file, marked(t, original, "second"))
	eventually(t, "the new bytes are held", func() bool {
		return strings.Contains(status(), "are held, and the approved ones")
	})
	if v := goOn(held, "completed"); v.Result.IsError {
		t.Errorf("got %+v", v)
	}
	restart()
	if v := goOn(later, "completed"); v.Result.IsError {
		t.Errorf("got %+v", v)
	}
	cmd := program(t, "plugins: {effects: {grants: [elicitation, kv: 1MiB]}}", "approve", "effects", dir)
	ownState(cmd, state)
	if screen, code := answer(t, cmd, "y\n"); code != 0 {
		t.Fatalf("got %v, want 0", screen)
	}
	restart()
	if v := goOn(approved, "failed"); !v.Error.Data.Retryable || !strings.HasPrefix(v.Error.Message, "the plugin of this task was replaced, or may do other things now") {
		t.Errorf("got %+v, want %q at its start", v.Error, "the plugin of this task was replaced, or may do other things now")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	restart()
	if v := goOn(gone, "failed"); !v.Error.Data.Retryable || !strings.HasPrefix(v.Error.Message, "the plugin of this task is not there any more, or does not offer effects-job") {
		t.Errorf("got %+v, want %q at its start", v.Error, "the plugin of this task is not there any more, or does not offer effects-job")
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}
