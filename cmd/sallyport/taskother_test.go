package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

// keyFile creates a file with a new key.
func keyFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(sealed.RandomKey())+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The tasks of a killed host are not touched by a call, by a host of a different folder or by one with different keys,
// even if they are requested there. The next host of their folder continues them.
func TestTask_staysWithItsFolderAndKeys(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	var first sync.Once
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first.Do(func() { // of the host that is killed
			close(begun)
			<-r.Context().Done()
		})
		fmt.Fprint(w, "the page")
	}))
	t.Cleanup(upstream.Close)
	config := fmt.Sprintf("plugins: {effects: {limits: {deadline: 60s}, grants: [elicitation, 'net: GET %s/**']}}", upstream.URL)
	other := "plugins: {effects: {limits: {deadline: 60s}, grants: [elicitation]}}"
	own, state := folder(t, guest(t, "effects")), filepath.Join(t.TempDir(), "state")
	start := func(config string, args ...string) *lineClient {
		cmd := program(t, config, append([]string{"serve"}, args...)...)
		ownState(cmd, state)
		return startLines(t, cmd)
	}
	begin := func(c *lineClient, steps ...step) string {
		t.Helper()
		v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-job", "arguments": effects("", steps...)})
		if err != nil || v.ResultType != "task" {
			t.Fatalf("got %+v, %s, %v, want %q", v, refused, err, "task")
		}
		return v.TaskID
	}
	fetch := step{"do": "fetch", "params": map[string]any{"method": "GET", "url": upstream.URL + "/wait"}}
	c := start(config, own)
	asks := begin(c, question)
	c.until(t, asks, "input_required")
	runs := begin(c, fetch)
	<-begun
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.end() // it was killed

	call := program(t, "", "call", bundled(t, "time"), "now")
	ownState(call, state)
	if out, err := call.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, c := range map[string]*lineClient{
		"another folder":                       start(config, folder(t, bundled(t, "time"))),
		"another folder, other grants":         start(other, folder(t, guest(t, "effects"))),
		"the same folder, with keys of others": start("state_keys: "+keyFile(t)+"\n"+config, own),
	} {
		if v, refused, err := c.ask("tasks/get", map[string]any{"taskId": runs}); err != nil || refused != "" || v.Status != "working" {
			t.Errorf("%s: got %+v, %s, %v, want %q", name, v, refused, err, "working")
		}
		v := c.until(t, asks, "input_required")
		if _, refused, err := c.ask("tasks/update", map[string]any{"taskId": asks, "inputResponses": answersTo(v)}); refused == "" || err != nil {
			t.Errorf("%s: the answer is taken: %s, %v", name, refused, err)
		}
		c.until(t, asks, "input_required")
		if err := c.end(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	c = start(config, own)
	c.until(t, runs, "completed")
	v := c.until(t, asks, "input_required")
	if _, refused, err := c.ask("tasks/update", map[string]any{"taskId": asks, "inputResponses": answersTo(v)}); refused != "" || err != nil {
		t.Fatal(refused, err)
	}
	c.until(t, asks, "completed")
	if err := c.end(); err != nil {
		t.Error(err)
	}
}
