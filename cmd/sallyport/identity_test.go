//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// Bytes that were called, or that a host served until it stopped, still serve when the file changes. After a kill,
// bytes that were only listed may be replaced without approval.
func TestIdentity_bytesThatWereCalledStayPinned(t *testing.T) {
	original := guest(t, "effects")
	for name, test := range map[string]struct{ calls, closes bool }{
		"listed, and killed": {}, "called, and killed": {calls: true}, "listed, and ended": {closes: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := folder(t, original), compiledState(t, folder(t, original))
			serve := program(t, "", "serve", dir)
			ownState(serve, state)
			c := startLines(t, serve)
			if _, refused, err := c.ask("tools/list", map[string]any{}); err != nil || refused != "" {
				t.Fatal(refused, err)
			}
			if test.calls {
				if v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-run", "arguments": effects("", step{"do": "count"})}); err != nil || refused != "" || v.IsError {
					t.Fatal(v, refused, err)
				}
			}
			if test.closes {
				if err := c.end(); err != nil {
					t.Fatal(err)
				}
			} else {
				if err := c.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = c.end() // it was killed
			}
			file := filepath.Join(dir, "effects.wasm")
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			put(t, file, marked(t, file, "new"))
			list := program(t, "", "list", dir, "--json")
			ownState(list, state)
			out, err := list.Output()
			if err != nil {
				t.Fatal(err)
			}
			var all []struct{ Name, Digest, State, Waits, Error string }
			if err := json.Unmarshal(out, &all); err != nil || len(all) == 0 || all[0].Name != "effects" {
				t.Fatalf("got %s: %v, want %q", out, err, "effects")
			}
			s, old := all[0], fileid.Digest(before)
			held := s.State == "loaded" && s.Digest == old && s.Waits != "" && strings.Contains(s.Error, "and the approved ones (")
			anew := s.State == "loaded" && s.Digest != old && s.Waits == "" && s.Error == ""
			if !held && (!anew || test.calls || test.closes) {
				t.Errorf("got %+v, want the update held, or loaded where nothing is lost", s)
			}
		})
	}
}

// The command printed for a held plugin works as printed, with any characters in the names of the folders.
func TestApprove_printsACommandThatWorks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a $(touch no) folder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file, state := filepath.Join(dir, "speaker.wasm"), filepath.Join(t.TempDir(), "a `state`")
	put(t, file, speaker("Says what it is told.", "first"))
	serve := program(t, "", "serve", dir)
	ownState(serve, state)
	c := startLines(t, serve)
	if _, refused, err := c.ask("tools/list", map[string]any{}); err != nil || refused != "" {
		t.Fatal(refused, err)
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	put(t, file, speaker("Says what it is told.", "second"))
	list := program(t, "", "list", dir, "--json")
	ownState(list, state)
	home := list.Env[len(list.Env)-1]
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []struct{ Error string }
	if err := json.Unmarshal(out, &all); err != nil || len(all) == 0 {
		t.Fatalf("list: got %s, %v, want plugins", out, err)
	}
	_, rest, _ := strings.Cut(all[len(all)-1].Error, " serve; ") // behind the host's own sentence
	line, _, found := strings.Cut(rest, " shows the difference")
	if !found {
		t.Fatalf("list: got %s, want a command that shows the difference", out)
	}
	if seen, out, err := typed(t, line, home, "y"); err != nil {
		t.Fatalf("%s: got %s%s %v, want success", line, seen, out, err)
	}
	list = program(t, "", "list", dir)
	ownState(list, state)
	if out, err := list.CombinedOutput(); err != nil || strings.Contains(string(out), "held") {
		t.Errorf("list: got %s, %v, want nothing held", out, err)
	}
}
