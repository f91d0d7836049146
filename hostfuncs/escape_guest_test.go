package hostfuncs_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// guestEscapes returns the cases of testdata/escape/escape.c, which documents each. The value is true for cases that
// only use invalid descriptors or pointers, without a denied effect.
func guestEscapes() map[string]bool {
	return map[string]bool{
		"open up": false, "open up twice": false, "open absolute": false, "open moved": false, "raw dots": false, "raw absolute": false,
		"raw renumbered": false, "raw link": false, "raw rename": false, "raw stat": false, "raw unlink": false, "link then create": false,
		"all descriptors": true, "up by readdir": false, "nowhere": true, "wild cookie": true, "sockets": true,
	}
}

// TestEscape_guestIsBuiltFromItsSource checks that the guest was built from its current source.
func TestEscape_guestIsBuiltFromItsSource(t *testing.T) {
	dir := filepath.Join("testdata", "escape")
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"escape.c", "escape.wasm"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(raw), name); err != nil || !strings.Contains(string(sums), want) {
			t.Errorf("%s: got other contents than SHA256SUMS, %v, want the same: run make escape-guest", name, err)
		}
	}
}

// tryGuestEscapes runs and reports the attempts that need C instead of Go's library.
func tryGuestEscapes(t *testing.T, row func(name, outcome, why string)) {
	wasm, err := os.ReadFile(filepath.Join("testdata", "escape", "escape.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	pool := poolOf(t, wasm)
	run := func(name string) (said, line string, changed bool) {
		w := newEscapeWorld(t, pool)
		before := w.outside(t)
		params, err := json.Marshal(map[string]any{"name": "run", "arguments": map[string]any{"case": name, "w": w.path("W"), "s": w.path("S")}})
		if err != nil {
			t.Fatal(err)
		}
		said, line = w.call(t, params, nil)
		return said, line, !maps.Equal(before, w.outside(t))
	}
	for _, name := range slices.Sorted(maps.Keys(guestEscapes())) {
		quiet := guestEscapes()[name]
		said, line, changed := run(name)
		outcome := "refused"
		switch {
		case strings.Contains(said, canary), strings.Contains(line, canary):
			outcome = "leaked"
		case changed:
			outcome = "changed"
		case jsonraw.Get([]byte(line), "call") == nil, !quiet && !strings.Contains(line, `"denials":[`):
			outcome = "unrecorded"
		case !strings.HasPrefix(said, "error "):
			outcome = "allowed"
		}
		row("in C: "+name, outcome, said+line)
	}
	if said, line, _ := run("granted"); !strings.HasPrefix(said, "fine") || strings.Contains(line, "denials") {
		t.Errorf("a granted effect of a guest in C: got %s %s, want fine without denials", said, line)
	}
}
