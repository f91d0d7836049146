//go:build unix

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/minisign/minisigntest"
	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// versioned is a plugin with a version.
func versioned(version string) []byte {
	m := wasmtest.Answering(`{"result":{"content":[{"type":"text","text":"` + version + `"}]}}`)
	m.Custom("sallyport.manifest", []byte(`{"name":"speaker","version":"`+version+`","tools":[{"name":"say","inputSchema":{"type":"object"}}]}`))
	return m.Bytes()
}

// A source that goes back to an older version, which the required key signed once, is shown as such before the question,
// by update and by add, and the newer version serves on after a no.
func TestUpdate_namesASignedOlderVersion(t *testing.T) {
	a, key := newAdded(t), minisigntest.New("12345678")
	file := filepath.Join(t.TempDir(), "speaker.wasm")
	release := func(version string) {
		put(t, file, versioned(version))
		put(t, file+".minisig", key.Sign(versioned(version)))
	}
	put(t, filepath.Join(a.home, "sallyport.yaml"), []byte("sources: {'**': {minisign: "+key.Public()+"}}\n"))
	release("1.10.0")
	if screen, out, code := typing(t, a.program("add", file, a.dir), "y"); code != 0 || strings.Contains(screen, "older") {
		t.Fatalf("add: got code %d, %s, want it installed\n%s", code, out, screen)
	}
	release("1.9.0")
	const want = "older   this is version 1.9.0, and 1.10.0 was added before"
	for name, args := range map[string][]string{"update": {"update", a.dir}, "add": {"add", file, a.dir}} {
		screen, out, code := typing(t, a.program(args...), "n")
		if code == 0 || !strings.Contains(screen, "signed  minisign 3837363534333231") || !strings.Contains(screen, want) {
			t.Errorf("%s: got code %d, %s, want %q\n%s", name, code, out, want, screen)
		}
		if out, err := a.program("call", filepath.Join(a.dir, "speaker.wasm"), "say").Output(); err != nil || !strings.Contains(string(out), "1.10.0") {
			t.Errorf("%s: got the answer %s, %v, want that of 1.10.0", name, out, err)
		}
	}
	foreseen := func() (row updatable) {
		t.Helper()
		var rows []updatable
		out, err := a.program("update", a.dir, "--json").Output()
		if err != nil || json.Unmarshal(out, &rows) != nil || len(rows) != 1 {
			t.Fatalf("update --json: got %s, %v, want one row", out, err)
		}
		return rows[0]
	}
	if row := foreseen(); row.State != "outdated" || row.Version != "1.9.0" || !row.Older || row.Returned {
		t.Errorf("update --json: got %+v, want the older version", row)
	}
	release("1.11.0")
	if row := foreseen(); row.Version != "1.11.0" || row.Older || row.Returned {
		t.Errorf("update --json: got %+v, want a newer version", row)
	}
	if screen, out, code := typing(t, a.program("update", a.dir), "y"); code != 0 || strings.Contains(screen, "older") {
		t.Errorf("a newer version: got code %d, %s, want it updated without a word\n%s", code, out, screen)
	}
	release("1.10.0")
	if row := foreseen(); !row.Older || !row.Returned {
		t.Errorf("update --json: got %+v, want the bytes of before", row)
	}
}
