package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// When a task is cancelled during a request, the request is aborted and none of the task's writes are committed.
func TestTask_cancelAbortsRequestAndWrites(t *testing.T) {
	t.Parallel()
	arrived, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	defer upstream.Close()
	dir := hostFiles(t, map[string]string{"old": "as it was"})
	config := fmt.Sprintf("plugins: {effects: {limits: {deadline: 60s}, grants: ['net: POST %s/**', 'fs: write %s/**', 'kv: 1MiB']}}", upstream.URL, dir)
	cmd := program(t, config, "serve", folder(t, guest(t, "effects")))
	ownState(cmd, filepath.Join(t.TempDir(), "state"))
	c := startLines(t, cmd)
	v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-job", "arguments": effects("",
		step{"do": "write", "path": dir + "/new", "text": "half"}, step{"do": "write", "path": dir + "/old", "text": "half"},
		step{"do": "ask", "text": "kv/set", "params": map[string]any{"key": "k", "value": 1}},
		step{"do": "fetch", "params": map[string]any{"method": "POST", "url": upstream.URL + "/x"}})})
	if err != nil || v.ResultType != "task" {
		t.Fatalf("got %+v, %s, %v, want %q", v, refused, err, "task")
	}
	soon(t, arrived)
	id := map[string]any{"taskId": v.TaskID}
	if _, refused, err := c.ask("tasks/cancel", id); refused != "" || err != nil {
		t.Fatal(refused, err)
	}
	soon(t, ended)
	if v, _, err = c.ask("tasks/get", id); err != nil || v.Status != "cancelled" {
		t.Errorf("got %+v, %v, want %q", v, err, "cancelled")
	}
	if err := c.end(); err != nil { // after this all its work is done
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "old")); string(text) != "as it was" {
		t.Errorf("old holds %q, %v", text, err)
	}
}

// A host that stops leaves its tasks to the next one: the outcome of a running request is unknown, and no request is
// sent twice.
func TestTask_continuesInTheNextHost(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 9)
	var again atomic.Bool
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		if r.URL.Path == "/slow" || r.URL.Path == "/stay" && !again.Load() {
			<-r.Context().Done()
		}
	}))
	defer upstream.Close()
	config := fmt.Sprintf("plugins: {effects: {limits: {deadline: 60s}, grants: ['net: POST %s/**', 'net: GET %[1]s/stay']}}", upstream.URL)
	plugins, state := folder(t, guest(t, "effects")), filepath.Join(t.TempDir(), "state")
	start := func() *lineClient {
		cmd := program(t, config, "serve", plugins)
		ownState(cmd, state)
		return startLines(t, cmd)
	}
	fetch := func(method, path string) step {
		return step{"do": "fetch", "params": map[string]any{"method": method, "url": upstream.URL + path}}
	}
	c := start()
	open := func(steps ...step) string {
		v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-job", "arguments": effects("", steps...)})
		if err != nil || v.ResultType != "task" {
			t.Fatalf("got %+v, %s, %v, want %q", v, refused, err, "task")
		}
		return v.TaskID
	}
	slow := open(fetch("POST", "/slow"))
	stays := open(fetch("POST", "/once"), fetch("GET", "/stay"))
	for range 3 { // with the third, the outcome of /once is known
		soon(t, arrived)
	}
	again.Store(true)
	if err := c.end(); err != nil {
		t.Error(err)
	}
	c = start()
	if v := c.wait(t, slow); v.Status != "failed" || !v.Error.Data.UnknownOutcome || v.Error.Data.Request != "POST "+upstream.URL+"/slow" {
		t.Errorf("got %+v, want %q, %q", v, "failed", "POST "+upstream.URL+"/slow")
	}
	if v := c.wait(t, stays); v.Status != "completed" || v.Result.IsError {
		t.Errorf("got %+v, want %q", v, "completed")
	}
	soon(t, arrived) // the GET, which may be repeated
	if n := len(arrived); n != 0 {
		t.Errorf("%d requests more", n)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}
