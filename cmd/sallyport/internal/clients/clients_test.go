package clients

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var launched = Server{Command: "/bin/sallyport", Args: []string{"serve", "/plugins"}}

func TestMerge_createsAFile(t *testing.T) {
	for name, want := range map[string]string{
		"claude-desktop": `{
  "mcpServers": {
    "sallyport": {
      "command": "/bin/sallyport",
      "args": [
        "serve",
        "/plugins"
      ]
    }
  }
}
`,
		"vscode": `{
  "servers": {
    "sallyport": {
      "type": "stdio",
      "command": "/bin/sallyport",
      "args": [
        "serve",
        "/plugins"
      ]
    }
  }
}
`,
	} {
		c, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Merge(nil, DefaultName, launched, false); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
}

func TestMerge_addressCarriesTheToken(t *testing.T) {
	for name, want := range map[string]string{
		"claude-code": `"type": "http",
      "url": "http://127.0.0.1:8470/mcp",
      "headers": {
        "Authorization": "Bearer tok"
      }`,
		"gemini": `"httpUrl": "http://127.0.0.1:8470/mcp",`,
		"cursor": `"url": "http://127.0.0.1:8470/mcp",`,
	} {
		c, _ := Find(name)
		got, err := c.Merge(nil, DefaultName, Server{URL: "http://127.0.0.1:8470/mcp", Token: "tok"}, false)
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: got %s, %v, want %s in it", name, got, err, want)
		}
	}
	desktop, _ := Find("claude-desktop")
	_, err := desktop.Merge(nil, DefaultName, Server{URL: "http://x"}, false)
	if err == nil || err.Error() != "claude-desktop launches its servers; leave --http out" {
		t.Errorf("claude-desktop with a URL: got %v, want a refusal", err)
	}
}

func TestMerge_keepsUnknownMembers(t *testing.T) {
	c, _ := Find("cursor")
	got, err := c.Merge([]byte(`{"z":1.0,"mcpServers":{"other":{"x":[1,2]},"sallyport":{"command":"old"}},"a":null}`), DefaultName, launched, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"z":1.0,"mcpServers":{"other":{"x":[1,2]},"sallyport":{"command":"/bin/sallyport",`, `,"a":null}`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(string(got), "old") {
		t.Errorf("got %s, want no old entry", got)
	}
}

func TestMerge_keepsMembersAddedByHand(t *testing.T) {
	c, _ := Find("claude-code")
	old := `{"mcpServers":{"sallyport":{"type":"http","url":"http://x","headers":{"A":"b"},"env":{"K":"v"},"disabled":false}}}`
	got, err := c.Merge([]byte(old), DefaultName, launched, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"K":"v"`, `"disabled":false`, `"type":"stdio"`, `"command": "/bin/sallyport"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(string(got), "url") || strings.Contains(string(got), "headers") {
		t.Errorf("got %s, want only the command", got)
	}
	if _, err := c.Merge(got, DefaultName, launched, false); !errors.Is(err, ErrUnchanged) {
		t.Errorf("merged twice: got %v, want %v", err, ErrUnchanged)
	}
	if got, err := c.Merge([]byte(`{"mcpServers":{"sallyport":7}}`), DefaultName, launched, false); err != nil || !strings.Contains(string(got), "/bin/sallyport") {
		t.Errorf("an entry that is a number: got %s, %v, want it replaced", got, err)
	}
}

func TestWrite_leavesAReadOnlyFile(t *testing.T) {
	c, _ := Find("cursor")
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, []byte(`{"k":1}`), 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(file, DefaultName, launched, false); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read-only file: got %v, want a refusal that says so", err)
	}
	if text, _ := os.ReadFile(file); string(text) != `{"k":1}` {
		t.Errorf("a read-only file: got %s, want it unchanged", text)
	}
	if left, _ := filepath.Glob(file + ".*"); len(left) > 0 {
		t.Errorf("a read-only file: got files %v beside it, want none", left)
	}
}

func TestMerge_refusesInvalidJSON(t *testing.T) {
	c, _ := Find("vscode")
	for _, text := range []string{"// comment\n", `{"servers":[]}`, `{"servers":{},"servers":{}}`, `[]`, `{"servers":{}`} {
		if _, err := c.Merge([]byte(text), DefaultName, launched, false); err == nil || !strings.Contains(err.Error(), "add the entry by hand") {
			t.Errorf("%s: got %v, want a refusal with: add the entry by hand", text, err)
		}
	}
}

func TestWrite_backsUpAndFollowsLinks(t *testing.T) {
	c, _ := Find("cursor")
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(file, []byte(`{"k":1}`), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip("no symbolic links here")
	}
	backup, err := c.Write(link, DefaultName, launched, false)
	if err != nil {
		t.Fatal(err)
	}
	if old, _ := os.ReadFile(backup); string(old) != `{"k":1}` {
		t.Errorf("backup: got %s, want the text before", old)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: got it replaced, want it kept")
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o640 {
		t.Errorf("the file: got mode %v, want %v", info.Mode(), os.FileMode(0o640))
	}
	if _, err := c.Write(link, DefaultName, launched, false); !errors.Is(err, ErrUnchanged) {
		t.Errorf("written twice: got %v, want %v", err, ErrUnchanged)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("got files %v left, want none", left)
	}
}

func TestWrite_createsTheFolder(t *testing.T) {
	c, _ := Find("gemini")
	file := filepath.Join(t.TempDir(), "a", "b", "settings.json")
	if backup, err := c.Write(file, DefaultName, launched, false); err != nil || backup != "" {
		t.Fatalf("a new file: got backup %q, %v, want none", backup, err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestFind_namesTheKnownClients(t *testing.T) {
	_, err := Find("emacs")
	if err == nil || err.Error() != `unknown client "emacs"; known are claude-desktop, claude-code, vscode, cursor, gemini, codex, zed, windsurf, cline` {
		t.Errorf("emacs: got %v, want the list of known clients", err)
	}
}
