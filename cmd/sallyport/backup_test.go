package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
)

// counting makes calls of a session that store two equal numbers each, until stop is closed. It returns after the first
// lines of the audit log.
func counting(t *testing.T, s *mcp.ClientSession, state string, stop chan struct{}) (ended chan int) {
	t.Helper()
	n := 0
	next := func() bool {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "effects-run", Arguments: effects("",
			step{"do": "ask", "text": "kv/set", "params": map[string]any{"key": "a", "value": n + 1}},
			step{"do": "ask", "text": "kv/set", "params": map[string]any{"key": "b", "value": n + 1}})})
		if err != nil || r.IsError {
			t.Errorf("call %d: got %v, %v, want success", n+1, r, err)
			return false
		}
		n++
		return true
	}
	for lines := uint64(0); lines == 0; {
		r, err := audit.Verify(filepath.Join(state, "audit"))
		if lines = r.Lines; err != nil || !next() {
			t.Fatalf("got %v, want the calls in the audit log", err)
		}
	}
	ended = make(chan int, 1)
	go func() { // ends with stop
		defer func() { ended <- n }()
		for next() {
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	return ended
}

// Copies that are made while calls are stored are whole, and the restored host has the calls up to their moment.
func TestBackup_restoresWhileCallsRun(t *testing.T) {
	t.Parallel()
	plugins := folder(t, guest(t, "effects"))
	state := filepath.Join(t.TempDir(), "state")
	const config = "plugins: {effects: {grants: ['kv: 1MiB']}}"
	s := ownSession(t, config, state, plugins)
	stop := make(chan struct{})
	ended := counting(t, s, state, stop)
	var copies []string
	for _, name := range []string{"first", "second"} {
		copies = append(copies, filepath.Join(t.TempDir(), name))
		cmd := program(t, config, "backup", copies[len(copies)-1])
		ownState(cmd, state)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("got %v, %s, want a copy", err, out)
		}
	}
	close(stop)
	made, last := <-ended, 0
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, kept := range copies {
		if r, err := audit.Verify(filepath.Join(kept, "audit")); err != nil || len(r.Problems) > 0 || r.Lines == 0 {
			t.Errorf("audit: got %+v, %v, want lines without problems", r, err)
		}
		a, b := storedNumbers(t, ownSession(t, config, kept, plugins))
		if a != b || a < max(last, 1) || a > made {
			t.Errorf("got the numbers %d and %d after %d calls, want one, not before %d", a, b, made, last)
		}
		last = a
		for _, command := range [][]string{{"audit", "verify"}, {"doctor", plugins}} {
			cmd := program(t, config, command...)
			ownState(cmd, kept)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: got %v, %s, want no problem in the restored folder", command, err, out)
			}
		}
		for _, name := range []string{"compiled", "hosts"} {
			if _, err := os.Stat(filepath.Join(copies[1], name)); err == nil && kept == copies[0] {
				t.Errorf("got %s in a copy, want it left out", name)
			}
		}
	}
}

// storedNumbers returns those that counting has stored, and ends the session.
func storedNumbers(t *testing.T, s *mcp.ClientSession) (a, b int) {
	t.Helper()
	r := call(t, s, "effects-run", effects("", step{"do": "ask", "text": "kv/get", "params": map[string]any{"key": "a"}},
		step{"do": "ask", "text": "kv/get", "params": map[string]any{"key": "b"}}))
	for i, to := range []*int{&a, &b} {
		var answer struct{ Result struct{ Value int } }
		if err := json.Unmarshal([]byte(lineOf(t, r, i)), &answer); err != nil {
			t.Fatal(err)
		}
		*to = answer.Result.Value
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return a, b
}

func TestBackup_refusesPlacesThatAreTaken(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	for _, name := range []string{"state", "taken", "begun.partial"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(state, link); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{
		filepath.Join(dir, "taken"):     "taken exists",
		filepath.Join(dir, "begun"):     "begun.partial exists: another backup runs, or one was interrupted",
		filepath.Join(state, "copy"):    "is in the state folder itself",
		filepath.Join(link, "copy"):     "is in the state folder itself", // else a copy of the copy without end
		filepath.Join(dir, "none", "x"): "no such file or directory",
	} {
		cmd := program(t, "", "backup", to)
		ownState(cmd, state)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: got %v, %s, want %q", to, err, out, want)
		}
	}
}
