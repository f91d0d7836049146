//go:build linux

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// While the disk is full no task starts and no task ID is returned, since no task would be left after a crash. When
// there is space again the same process goes on, and results of running tasks are kept.
func TestTask_startsNoneOnAFullDisk(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan struct{}, 9), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}))
	defer upstream.Close()
	state := filepath.Join(t.TempDir(), "state")
	cmd := program(t, "plugins: {effects: {limits: {deadline: 60s}, grants: [elicitation, 'net: GET "+upstream.URL+"/']}}", "serve", folder(t, guest(t, "effects")))
	ownState(cmd, state)
	var log lockedBuffer
	cmd.Stderr = &log
	c := startLines(t, cmd)
	waits := c.openTask(t, effects("", question))
	v := c.until(t, waits, "input_required")
	limit := func(bytes uint64) {
		t.Helper()
		var all unix.Rlimit
		err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &all)
		if err == nil {
			all.Cur = min(bytes, all.Max)
			err = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, &all, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ends := c.openTask(t, effects("", step{"do": "fetch", "params": map[string]any{"method": "GET", "url": upstream.URL}}))
	soon(t, arrived)
	limit(1) // files cannot grow, as on a full disk
	if text, retryable := c.refusedTask(t, effects("", question)); !strings.Contains(text, "the task cannot be kept, so it does not begin") || !retryable {
		t.Error(text, retryable)
	}
	update := map[string]any{"taskId": waits, "inputResponses": answersTo(v)}
	if _, refused, err := c.ask("tasks/update", update); refused == "" || err != nil {
		t.Errorf("answers that nothing keeps are taken: %v", err)
	}
	close(answer)
	eventually(t, "a task ends on the full disk", func() bool { return strings.Contains(log.String(), "a task's outcome cannot be kept") })
	limit(1 << 62)
	again := c.openTask(t, effects("", step{"do": "sleep", "times": 1}))
	if _, refused, err := c.ask("tasks/update", update); refused != "" || err != nil {
		t.Error(refused, err)
	}
	for _, id := range []string{waits, again, ends} {
		if v := c.until(t, id, "completed"); v.Result.IsError {
			t.Errorf("got %+v", v)
		}
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// With an unwritable state folder no task starts.
func TestTask_startsNoneInAnUnwritableFolder(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	if err := os.MkdirAll(filepath.Join(state, "state.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "plugins: {effects: {grants: [elicitation]}}", "serve", folder(t, guest(t, "effects")))
	ownState(cmd, state)
	c := startLines(t, cmd)
	if text, retryable := c.refusedTask(t, effects("", step{"do": "sleep", "times": 1})); !strings.Contains(text, "the task cannot be kept, so it does not begin") || !retryable {
		t.Error(text, retryable)
	}
	if err := os.Remove(filepath.Join(state, "state.db")); err != nil {
		t.Fatal(err)
	}
	c.until(t, c.openTask(t, effects("", step{"do": "sleep", "times": 1})), "completed")
	if err := c.end(); err != nil {
		t.Error(err)
	}
}
