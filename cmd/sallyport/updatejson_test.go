//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The updates of all plugins are JSON without a question: current, outdated with the changes, or unknown.
func TestUpdate_printsChangesAsJSON(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	files := t.TempDir()
	first := map[string]string{"one": hub.push("acme/one", "1", speaker("Speaks.", "one")), "two": hub.push("acme/two", "1", speaker("Speaks.", "two"))}
	put(t, filepath.Join(files, "three.wasm"), speaker("Speaks.", "three"))
	for _, from := range []string{hub.source("acme/one", "1"), hub.source("acme/two", "1"), filepath.Join(files, "three.wasm")} {
		if _, out, code := typing(t, a.program("add", from, a.dir), "y"); code != 0 {
			t.Fatalf("%s: got code %d, %s", from, code, out)
		}
	}
	second := hub.push("acme/two", "1", speaker("Speaks louder.", "two"))
	if err := os.Remove(filepath.Join(files, "three.wasm")); err != nil {
		t.Fatal(err)
	}
	cmd := a.program("update", "--json", a.dir)
	out, err := cmd.Output()
	var rows []struct {
		Name, State, Digest, Newest, Error string
		Changes                            *struct {
			Plugin string
			Terms  []struct{ What, Before, After string }
		}
	}
	if bad := json.Unmarshal(out, &rows); bad != nil || err == nil || cmd.ProcessState.ExitCode() != exitTool || len(rows) != 3 {
		t.Fatalf("got %s, %v, want three rows and exit code 1", out, errors.Join(err, bad))
	}
	one, three, two := rows[0], rows[1], rows[2]
	if one.Name != "one" || one.State != "current" || one.Newest != first["one"] || one.Changes != nil {
		t.Errorf("got %+v, want it current", one)
	}
	if three.Name != "three" || three.State != "unknown" || !strings.Contains(three.Error, "no such file") {
		t.Errorf("got %+v, want it unknown", three)
	}
	if two.State != "outdated" || two.Digest != first["two"] || two.Newest != second || two.Changes == nil || two.Changes.Plugin != "two" || len(two.Changes.Terms) == 0 {
		t.Errorf("got %+v, want its changes", two)
	}
	if out, err := a.program("update", "one", "--json", a.dir).Output(); err != nil || !strings.Contains(string(out), `"current"`) {
		t.Errorf("one: got %s, %v, want it alone", out, err)
	}
	left, err := filepath.Glob(filepath.Join(a.home, "state", "incoming-*"))
	if err != nil || len(left) != 0 || a.files() != "one.wasm three.wasm two.wasm" {
		t.Errorf("got files %q and %q, %v, want nothing changed", a.files(), left, err)
	}
}
