//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

// Answers for the previous bytes are shown with an update, and hold for the new bytes only after a yes. Questions of
// the previous bytes are deleted.
func TestApprove_carriesAnswers(t *testing.T) {
	t.Parallel()
	for _, carry := range []bool{true, false} {
		h := newAskingHost(t, "refuse")
		s := h.serve()
		h.fetch(s, "/one")
		if seen, out, code := h.answer("y", "allow", h.one().ID, "--always"); code != 0 {
			t.Fatalf("allow: got exit code %d: %s%s, want 0", code, seen, out)
		}
		eventually(t, "the answer holds", func() bool { _, failed := h.fetch(s, "/one"); return !failed })
		var old questionJSON
		eventually(t, "it is asked", func() bool {
			h.fetch(s, "/two")
			for _, old = range h.pending() {
				if strings.Contains(old.Effect, "/two") {
					return true
				}
			}
			return false
		})
		file := filepath.Join(h.dir, "fetch.wasm")
		put(t, file, marked(t, file, "new"))

		cmd := h.program("approve", "fetch", h.dir)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		p := terminaltest.Start(t, cmd)
		p.Expect("may fetch serve with these bytes? [y/N] ")
		p.Type("y")
		p.Expect("are they to hold for the new bytes too? [y/N] ")
		if seen := p.Seen(); !strings.Contains(seen, "1 answer for the bytes before:") || !strings.Contains(seen, "fetch may net: GET ") {
			t.Errorf("got %q, want %q in it, %q in it", seen, "1 answer for the bytes before:", "fetch may net: GET ")
		}
		said, typed := "they hold for the new bytes", "y"
		if !carry {
			said, typed = "they are forgotten, and asked again", "n"
		}
		p.Type(typed)
		if err := p.Wait(); err != nil || !strings.Contains(out.String(), said) {
			t.Fatalf("got %v, %s, want %q in it", err, out.String(), said)
		}
		for _, q := range h.pending() {
			if q.ID == old.ID {
				t.Errorf("got question %+v of the previous bytes, want none", q)
			}
		}
		eventually(t, "the new bytes serve", func() bool { return h.digest() != old.Digest })
		s = h.serve()
		if answer, failed := h.fetch(s, "/one"); failed == carry {
			t.Errorf("carried %v: got failed %t: %s, want %t", carry, failed, answer, !carry)
		}
		list, err := h.program("grants").Output()
		if err != nil || strings.Contains(string(list), old.Digest) {
			t.Errorf("grants: got %s, %v, want none of %s", list, err, old.Digest)
		}
		if carry {
			h.logged(`"answer":"carry"`)
		}
	}
}

// digest returns the digest of the host's serving plugin.
func (h *askingHost) digest() string {
	h.t.Helper()
	out, err := h.program("list", h.dir, "--json").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	var all []struct{ Digest string }
	if err := json.Unmarshal(out, &all); err != nil || len(all) == 0 {
		h.t.Fatalf("list: got %s, %v, want plugins", out, err)
	}
	return all[0].Digest
}

// The console shows the answers for the previous bytes beside the update, and carries them over only with an approval
// that includes them.
func TestConsole_carriesAnswersWithAnApproval(t *testing.T) {
	for _, carry := range []bool{true, false} {
		h := newAskingHost(t, "refuse")
		s := h.serve()
		address := consoleAt(t, h.state)
		h.fetch(s, "/one")
		if seen, out, code := h.answer("y", "allow", h.one().ID, "--always"); code != 0 {
			t.Fatalf("allow: got exit code %d: %s%s, want 0", code, seen, out)
		}
		eventually(t, "the answer holds", func() bool { _, failed := h.fetch(s, "/one"); return !failed })
		file, before := filepath.Join(h.dir, "fetch.wasm"), h.digest()
		put(t, file, marked(t, file, "new"))
		order := map[string]any{"do": "review", "plugin": "fetch", "carry": carry}
		var shown console.Review
		eventually(t, "it is held", func() bool {
			code, text := atConsole(t, address, "POST", "/order", order)
			return code == http.StatusOK && json.Unmarshal([]byte(text), &shown) == nil
		})
		if len(shown.Answers) != 1 || !strings.HasPrefix(shown.Answers[0], "fetch may net: GET ") || !strings.Contains(shown.Answers[0], ", always, for callers on stdio") {
			t.Errorf("got %q, want 1, %q at its start, %q in it", shown.Answers, "fetch may net: GET ", ", always, for callers on stdio")
		}
		order["do"], order["seen"] = "approve", shown.Seen
		if code, text := atConsole(t, address, "POST", "/order", order); code != http.StatusOK {
			t.Fatalf("approve: got %d %s, want %d", code, text, http.StatusOK)
		}
		eventually(t, "the new bytes serve", func() bool { return h.digest() != before })
		s = h.serve()
		if answer, failed := h.fetch(s, "/one"); failed == carry {
			t.Errorf("carried %v: got failed %t: %s, want %t", carry, failed, answer, !carry)
		}
		if list, err := h.program("grants").Output(); err != nil || strings.Contains(string(list), before) {
			t.Errorf("grants: got %s, %v, want none of %s", list, err, before)
		}
		if carry {
			h.logged(`"by":"console","answer":"carry"`)
		}
	}
}
