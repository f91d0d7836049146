//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// add lets the clients that were agreed to start the host, asks no more once one does, and remove takes the entry out
// after the last plugin: the file is as it was.
func TestAdd_wiresClientsUntilTheLastPluginIsRemoved(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	hub.push("acme/one", "1", speaker("Speaks.", "one"))
	hub.push("acme/two", "1", speaker("Speaks.", "two"))
	const before = "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"
	file := filepath.Join(a.home, ".claude.json")
	put(t, file, []byte(before))
	cursor := filepath.Join(a.home, ".cursor", "mcp.json")
	if err := os.Mkdir(filepath.Dir(cursor), 0o700); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	screen, out, code := typing(t, a.program("add", hub.source("acme/one", "1"), a.dir), "y", "y", "n")
	if code != 0 || !strings.Contains(screen, "let Claude Code start it?") || !strings.Contains(screen, "let Cursor start it?") ||
		!strings.Contains(out, "Claude Code starts it, as sallyport in "+file) || !strings.Contains(out, "restart Claude Code") {
		t.Fatalf("add: got code %d, %s, want both clients asked about\n%s", code, out, screen)
	}
	wired := read()
	for _, want := range []string{`"numStartups": 3`, `"other"`, `"serve"`, `"` + a.dir + `"`, `"--state"`} {
		if !strings.Contains(wired, want) {
			t.Errorf("the file lacks %s:\n%s", want, wired)
		}
	}
	if _, err := os.Stat(cursor); !os.IsNotExist(err) {
		t.Errorf("got %v, want no file of Cursor", err)
	}
	if _, out, code := typing(t, a.program("add", hub.source("acme/two", "1"), a.dir, "--client", "claude-code"), "y"); code != 0 ||
		!strings.Contains(out, "Claude Code starts it already, as sallyport") || read() != wired {
		t.Errorf("add again: got code %d, %s, want the same entry", code, out)
	}
	if _, out, code := typing(t, a.program("remove", "one", a.dir), "y"); code != 0 || read() != wired {
		t.Errorf("remove: got code %d, %s, want the entry to stay for the other plugin", code, out)
	}
	screen, out, code = typing(t, a.program("remove", "two", a.dir), "y", "y")
	if code != 0 || !strings.Contains(screen, "remove its entry from Claude Code?") || !strings.Contains(out, "removed sallyport from "+file) || read() != before {
		t.Errorf("remove the last: got code %d, %s and\n%s\nwant\n%s", code, out, read(), before)
	}
}

// A flag is the choice: its clients are not asked about, an unknown one changes nothing, and none asks about none.
func TestAdd_wiresTheClientsOfItsFlag(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	hub.push("acme/one", "1", speaker("Speaks.", "one"))
	hub.push("acme/two", "1", speaker("Speaks.", "two"))
	put(t, filepath.Join(a.home, ".claude.json"), []byte("{}"))
	if out, err := a.program("add", hub.source("acme/one", "1"), a.dir, "--client", "emacs").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), `unknown client "emacs"`) || a.files() != "" {
		t.Errorf("emacs: got %s, %v and files %q, want it unknown", out, err, a.files())
	}
	if _, out, code := typing(t, a.program("add", hub.source("acme/one", "1"), a.dir, "--client", "none"), "y"); code != 0 {
		t.Errorf("none: got code %d, %s, want it installed", code, out)
	}
	if _, out, code := typing(t, a.program("add", hub.source("acme/two", "1"), a.dir, "--client", "codex,cursor"), "y"); code != 0 ||
		!strings.Contains(out, "Codex starts it, as sallyport") || !strings.Contains(out, "Cursor starts it, as sallyport") {
		t.Errorf("two: got code %d, %s, want two clients", code, out)
	}
	for name, want := range map[string]string{".claude.json": "{}", ".codex/config.toml": "[mcp_servers.sallyport]", ".cursor/mcp.json": `"mcpServers"`} {
		if text, err := os.ReadFile(filepath.Join(a.home, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: got %q, %v, want %q", name, text, err, want)
		}
	}
}
