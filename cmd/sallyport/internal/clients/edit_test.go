package clients

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// merged returns the client's file after one change.
func merged(t *testing.T, client, text, name string, s Server) string {
	t.Helper()
	c, err := Find(client)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Merge([]byte(text), name, s, false)
	if err != nil {
		t.Fatalf("%s: got %v, want success", client, err)
	}
	if _, err := c.Merge(out, name, s, false); !errors.Is(err, ErrUnchanged) {
		t.Errorf("%s: merged twice: got %v, want %v", client, err, ErrUnchanged)
	}
	return string(out)
}

// Each client has its own members for a launched server and for one with a URL.
func TestMerge_writesEachClientsMembers(t *testing.T) {
	web := Server{URL: "http://127.0.0.1:8470/mcp", Token: "tok"}
	for client, want := range map[string][2]string{
		"codex": {"[mcp_servers.sallyport]\ncommand = '/bin/sallyport'\nargs = ['serve', '/plugins']\n",
			"[mcp_servers.sallyport]\nurl = 'http://127.0.0.1:8470/mcp'\nhttp_headers = {Authorization = 'Bearer tok'}\n"},
		"zed":      {`{"context_servers":{"sallyport":{"command":"/bin/sallyport","args":["serve","/plugins"]}}}`, `{"context_servers":{"sallyport":{"url":"http://127.0.0.1:8470/mcp","headers":{"Authorization":"Bearer tok"}}}}`},
		"windsurf": {`{"mcpServers":{"sallyport":{"command":"/bin/sallyport","args":["serve","/plugins"]}}}`, `{"mcpServers":{"sallyport":{"serverUrl":"http://127.0.0.1:8470/mcp","headers":{"Authorization":"Bearer tok"}}}}`},
		"cline":    {`{"mcpServers":{"sallyport":{"command":"/bin/sallyport","args":["serve","/plugins"]}}}`, `{"mcpServers":{"sallyport":{"type":"streamableHttp","url":"http://127.0.0.1:8470/mcp","headers":{"Authorization":"Bearer tok"}}}}`},
	} {
		for i, s := range []Server{launched, web} {
			got := merged(t, client, "", DefaultName, s)
			if client != "codex" {
				got = string(plain(t, got))
			}
			if got != want[i] {
				t.Errorf("%s: %s, want %s", client, got, want[i])
			}
		}
	}
}

func plain(t *testing.T, text string) []byte {
	t.Helper()
	v, err := parsed([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return plainJSON(v)
}

// Every byte around the entry stays: comments, blanks, trailing commas, a byte order mark.
func TestMerge_keepsEveryOtherByte(t *testing.T) {
	for name, c := range map[string]struct{ client, before, after string }{
		"comments": {"zed", "// mine\n{\n    \"theme\": \"x\", // dark\n}\n",
			"// mine\n{\n    \"theme\": \"x\",\n    \"context_servers\": {\n      \"sallyport\": {\n        \"command\": \"/bin/sallyport\",\n        \"args\": [\n          \"serve\",\n          \"/plugins\"\n        ]\n      }\n    }, // dark\n}\n"},
		"a mark": {"cursor", "\ufeff{}\n", "\ufeff{\n  \"mcpServers\": {\n    \"sallyport\": {\n      \"command\": \"/bin/sallyport\",\n      \"args\": [\n        \"serve\",\n        \"/plugins\"\n      ]\n    }\n  }\n}\n"},
		"a table": {"codex", "model = \"o\" # mine\n\n[mcp_servers.sallyport] # here\ncommand = \"/old\"\n# about args\nargs = [\n  \"serve\", # the folder\n  \"/plugins\",\n]\nstartup_timeout_sec = 20\n\n# next\n[profiles.x]\na = 1",
			"model = \"o\" # mine\n\n[mcp_servers.sallyport] # here\ncommand = '/bin/sallyport'\nargs = ['serve', '/plugins']\n# about args\nstartup_timeout_sec = 20\n\n# next\n[profiles.x]\na = 1"},
		"behind tables": {"codex", "[a]\nb = 1", "[a]\nb = 1\n\n[mcp_servers.sallyport]\ncommand = '/bin/sallyport'\nargs = ['serve', '/plugins']\n"},
	} {
		if got := merged(t, c.client, c.before, DefaultName, launched); got != c.after {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.after)
		}
	}
}

// Two folders are two entries, and removing one keeps the other.
func TestMerge_keepsTheEntryOfAnotherFolder(t *testing.T) {
	other := Server{Command: "/bin/sallyport", Args: []string{"serve", "/others"}}
	for _, client := range List() {
		c, _ := Find(client)
		one := merged(t, client, "", DefaultName, launched)
		_, err := c.Merge([]byte(one), DefaultName, other, false)
		var taken *TakenError
		if !errors.As(err, &taken) || taken.Dir != "/plugins" {
			t.Errorf("%s: an entry of another folder: got %v, want it taken by /plugins", client, err)
		}
		if text, err := c.Merge([]byte(one), DefaultName, other, true); err != nil || strings.Contains(string(text), "/plugins") {
			t.Errorf("%s: with --replace: got %s, %v, want no /plugins", client, text, err)
		}
		two := merged(t, client, one, "others", other)
		if !strings.Contains(two, "/plugins") || !strings.Contains(two, "/others") {
			t.Errorf("%s: got %s, want %q in it, %q in it", client, two, "/plugins", "/others")
		}
		left, err := c.Remove([]byte(two), DefaultName)
		if err != nil || strings.Contains(string(left), "/plugins") || !strings.Contains(string(left), "/others") {
			t.Errorf("%s: got %v, %s, want %q in it", client, err, left, "/others")
		}
		if _, err := c.Remove(left, DefaultName); !errors.Is(err, ErrNoEntry) {
			t.Errorf("%s: removed twice: got %v, want %v", client, err, ErrNoEntry)
		}
	}
}

// A file that cannot be edited unambiguously is an error.
func TestMerge_refusesOddTOML(t *testing.T) {
	c, _ := Find("codex")
	for _, text := range []string{
		"mcp_servers = {x = {command = 'y'}}\n", "mcp_servers = 1\n", "[mcp_servers.sallyport\n", "a = 1\na = 2\n",
		"mcp_servers = {sallyport = {command = 'y'}}\n",
	} {
		if out, err := c.Merge([]byte(text), DefaultName, launched, false); err == nil || !strings.Contains(err.Error(), "by hand") {
			t.Errorf("%q: got %v, %s, want an error, %q in it", text, err, out, "by hand")
		}
	}
	if _, err := c.Merge([]byte("a = '\xff'"), DefaultName, launched, false); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("got %v, want an error, %q in it", err, "not UTF-8")
	}
}

func TestCheckName_refusesNamesThatNeedQuotes(t *testing.T) {
	for name, good := range map[string]bool{"sallyport": true, "a-b_2": true, "": false, "a b": false, "a.b": false, "-a": false, strings.Repeat("a", 65): false, "a\n": false} {
		if err := CheckName(name); (err == nil) != good {
			t.Errorf("%q: got %v, want %v", name, err, good)
		}
	}
}

// A dangling link stays a link: its target is created.
func TestWrite_createsTheTargetOfADanglingLink(t *testing.T) {
	c, _ := Find("cursor")
	dir := t.TempDir()
	link := filepath.Join(dir, "mcp.json")
	if err := os.Symlink(filepath.Join("dotfiles", "mcp.json"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(link, DefaultName, launched, false); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: got %v, %v, want a link", info, err)
	}
	var file map[string]any
	text, err := os.ReadFile(filepath.Join(dir, "dotfiles", "mcp.json"))
	if err != nil || json.Unmarshal(text, &file) != nil {
		t.Errorf("the link's target: got %s, %v, want JSON", text, err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(loop, DefaultName, launched, false); err == nil || !strings.Contains(err.Error(), "too many links") {
		t.Errorf("got %v, want an error, %q in it", err, "too many links")
	}
}
