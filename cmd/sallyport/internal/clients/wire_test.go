package clients

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wireable are files of clients with content of their own.
func wireable() map[string]string {
	return map[string]string{
		"claude-code": "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"sallyport\": {\n      \"type\": \"http\",\n      \"url\": \"https://a.example/mcp\"\n    }\n  },\n  \"projects\": {}\n}\n",
		"vscode":      "{\n  // mine\n  \"servers\": {\n    \"sallyport\": {\n      \"command\": \"/bin/sallyport\",\n      \"args\": [\"serve\", \"/others\"],\n    },\n  },\n}\n",
		"codex":       "model = \"o\" # mine\n\n[mcp_servers.sallyport]\ncommand = \"/bin/sallyport\"\nargs = [\"serve\", \"/others\"]\n\n# next\n[profiles.x]\na = 1\n",
	}
}

// An entry is added once beside one of the same name, and its removal restores every byte.
func TestWire_isUndoneByUnwire(t *testing.T) {
	for client, before := range wireable() {
		c, err := Find(client)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		read := func(name string) []byte {
			t.Helper()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		name, backup, err := c.Wire(file, launched)
		if err != nil || name != "sallyport_2" || !bytes.Equal(read(backup), []byte(before)) {
			t.Fatalf("%s: got %s, backup %q, %v, want sallyport_2 and the file as it was", client, name, backup, err)
		}
		after := read(file)
		if name, backup, err := c.Wire(file, launched); !errors.Is(err, ErrUnchanged) || name != "sallyport_2" || backup != "" || !bytes.Equal(read(file), after) {
			t.Errorf("%s twice: got %s, backup %q, %v, want the entry that is there", client, name, backup, err)
		}
		if names, err := c.Serving(after, launched); err != nil || strings.Join(names, " ") != "sallyport_2" {
			t.Errorf("%s: got entries %v, %v, want sallyport_2", client, names, err)
		}
		names, _, err := c.Unwire(file, launched)
		if err != nil || strings.Join(names, " ") != "sallyport_2" || string(read(file)) != before {
			t.Errorf("%s: got %v, %v and\n%s\nwant\n%s", client, names, err, read(file), before)
		}
		if _, backup, err := c.Unwire(file, launched); !errors.Is(err, ErrNoEntry) || backup != "" {
			t.Errorf("%s twice: got backup %q, %v, want %v", client, backup, err, ErrNoEntry)
		}
	}
}

// A file that is not understood stays as it is.
func TestWire_leavesAFileThatItCannotRead(t *testing.T) {
	for client, text := range map[string]string{"cursor": `{"mcpServers": [`, "claude-code": `{"mcpServers": 7}`, "codex": "= 1"} {
		c, err := Find(client)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Wire(file, launched); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v, want an error that names the file", client, err)
		}
		if left, err := filepath.Glob(file + "*"); err != nil || len(left) != 1 {
			t.Errorf("%s: got files %v, %v, want the one that was there", client, left, err)
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != text {
			t.Errorf("%s: got %q, %v, want %q", client, now, err, text)
		}
	}
}

// A client counts as installed by its file, or by a folder of its own for it.
func TestInstalled_looksForTheFileOrItsFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("USERPROFILE", home)
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	for client, want := range map[string]bool{"claude-code": false, "cursor": true, "codex": false} {
		if c, err := Find(client); err != nil || c.Installed() != want {
			t.Errorf("%s: got installed %t, %v, want %t", client, c.Installed(), err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Find("claude-code"); err != nil || !c.Installed() {
		t.Errorf("claude-code: got installed %t, %v, want true", c.Installed(), err)
	}
}

// The end of the object stays out of the comment that stands before the last entry.
func TestRemove_keepsTheRestOfTheLine(t *testing.T) {
	c, err := Find("vscode")
	if err != nil {
		t.Fatal(err)
	}
	text := "{\"servers\": { // mine\n  \"sallyport\": {\"command\": \"/bin/sallyport\"}, }}\n"
	got, err := c.Remove([]byte(text), DefaultName)
	want := "{\"servers\": { // mine\n   }}\n"
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
