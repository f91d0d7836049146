package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
)

// A host killed while calls write leaves no partial file, no partial set of files and no lost key, and its audit log
// verifies up to a clean tail.
func TestKill_leavesNoPartialFiles(t *testing.T) {
	t.Parallel()
	dir := hostFiles(t, map[string]string{"a": "0", "b": "0", "d/c": "0"})
	state := filepath.Join(t.TempDir(), "state")
	plugins := folder(t, guest(t, "effects"))
	config := "plugins: {effects: {grants: ['fs: write " + dir + "/**', 'kv: 1MiB']}}"
	committed := 0 // the last call with a response
	for round := range 3 {
		committed = max(committed, killed(t, config, state, plugins, dir, round*1000))
		s := ownSession(t, config, state, plugins)
		r := call(t, s, "effects-run", effects("", step{"do": "read", "path": dir + "/a"}, step{"do": "read", "path": dir + "/b"},
			step{"do": "read", "path": dir + "/d/c"}, step{"do": "list", "path": dir},
			step{"do": "ask", "text": "kv/get", "params": map[string]any{"key": "n"}}))
		a, b, c := lineOf(t, r, 0), lineOf(t, r, 1), lineOf(t, r, 2)
		if a != b || b != c || strings.Trim(a, "x0123456789") != "" {
			t.Errorf("a set of files: got %.20q %.20q %.20q, want one version", a, b, c)
		}
		if got := lineOf(t, r, 3); got != "a b d/" {
			t.Errorf("folder: got %q, want a b d/", got)
		}
		var answer struct{ Result struct{ Value int } }
		if err := json.Unmarshal([]byte(lineOf(t, r, 4)), &answer); err != nil || answer.Result.Value < committed {
			t.Errorf("key: got %d, %v, want %d or more", answer.Result.Value, err, committed)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	report, err := audit.Verify(filepath.Join(state, "audit"))
	if err != nil || len(report.Problems) > 0 || report.Lines == 0 {
		t.Errorf("audit: got %+v, %v, want lines without problems", report, err)
	}
}

func ownSession(t *testing.T, config, state, plugins string) *mcp.ClientSession {
	t.Helper()
	cmd := program(t, config, "serve", plugins)
	ownState(cmd, state)
	return session(t, commandTransport(cmd), nil)
}

// killed serves calls that write, kills the host in the middle of one, and returns the last one with a response.
func killed(t *testing.T, config, state, plugins, dir string, from int) (last int) {
	t.Helper()
	cmd := program(t, config, "serve", plugins)
	ownState(cmd, state)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	s, err := client.Connect(ctx, commandTransport(cmd), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it was killed
	for n := from + 1; ; n++ {
		text := fmt.Sprint(n, strings.Repeat("x", 50_000))
		if n == from+15 {
			go func() { // ends with the process
				time.Sleep(time.Duration(from/100) * time.Millisecond)
				_ = cmd.Process.Kill()
			}()
		}
		r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "effects-run", Arguments: effects("",
			step{"do": "write", "path": dir + "/a", "text": text}, step{"do": "write", "path": dir + "/b", "text": text},
			step{"do": "write", "path": dir + "/d/c", "text": text},
			step{"do": "ask", "text": "kv/set", "params": map[string]any{"key": "n", "value": n}})})
		if err != nil {
			return last
		}
		if r.IsError {
			t.Fatalf("got error %v, want success", r.Content)
		}
		last = n
	}
}
