//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// indexed is a home folder whose configuration names an index with one plugin.
type indexed struct {
	*added
	hub    *ociServer
	index  string
	from   string
	digest string
}

func newIndexed(t *testing.T) *indexed {
	t.Helper()
	i := &indexed{added: newAdded(t), hub: newOCIServer(t)}
	i.index = filepath.Join(i.home, "index.json")
	i.from = i.hub.source("acme/speaker-2", "1")
	i.digest = i.hub.push("acme/speaker-2", "1", speaker("Speaks.", "one"))
	i.write(fmt.Sprintf(`{"name":"speaker","version":"1.0","description":"Speaks.","source":%q,"digest":%q,"wants":["net: GET https://a.example/**"]}`, i.from, i.digest))
	put(t, filepath.Join(i.home, "sallyport.yaml"), []byte("indexes: ["+i.index+"]\n"))
	return i
}

// write writes the index with entries.
func (i *indexed) write(entries ...string) {
	i.t.Helper()
	put(i.t, i.index, []byte(`{"plugins":[`+strings.Join(entries, ",")+`]}`))
}

// host returns the flag that names the registry.
func (i *indexed) host() string { return "--host=" + strings.TrimPrefix(i.hub.url, "http://") }

// A word finds a plugin, and its name adds these bytes from their source, which list compares from then on.
func TestSearch_findsAPluginThatAddInstallsByName(t *testing.T) {
	i := newIndexed(t)
	if out, err := i.program("search", "spea").Output(); err != nil || string(out) != "speaker  1.0  "+i.from+"  Speaks.\n" {
		t.Errorf("search: got %s, %v, want the plugin", out, err)
	}
	out, err := i.program("search", "--json").Output()
	var found []map[string]any
	if err != nil || json.Unmarshal(out, &found) != nil || len(found) != 1 || found[0]["digest"] != i.digest || found[0]["index"] != i.index || found[0]["source"] != i.from {
		t.Errorf("search --json: got %s, %v, want the entry", out, err)
	}
	if out, err := i.program("search", "nothing").Output(); err != nil || string(out) != "nothing was found\n" {
		t.Errorf("search: got %s, %v, want nothing", out, err)
	}
	screen, text, code := typing(t, i.program("add", "speaker", i.dir, i.host()), "y")
	plain := strings.Join(strings.Fields(screen), "") // a terminal breaks long words
	if code != 0 || i.files() != "speaker.wasm" || !strings.Contains(plain, "index"+i.index+",asspeaker") || !strings.Contains(plain, "from"+i.from) {
		t.Fatalf("add: got code %d, %s and files %q, want it installed\n%s", code, text, i.files(), screen)
	}
	if out, err := i.program("list", i.dir, "--outdated").Output(); err != nil || string(out) != "speaker  current  "+i.from+"\n" {
		t.Errorf("list: got %s, %v, want it current", out, err)
	}
}

// The wants of a plugin that its index does not list are said so.
func TestAdd_namesWantsThatTheIndexDoesNotList(t *testing.T) {
	i := newIndexed(t)
	wasm, err := os.ReadFile(bundled(t, "fetch"))
	if err != nil {
		t.Fatal(err)
	}
	i.write(fmt.Sprintf(`{"name":"fetch","source":%q,"digest":%q,"wants":["net: GET https://a.example/**"]}`, bundled(t, "fetch"), fileid.Digest(wasm)))
	screen, out, code := typing(t, i.program("add", "fetch", i.dir), "n")
	if plain := strings.Join(strings.Fields(screen), " "); code != 1 || !strings.Contains(plain, "the index does not list that it wants net: GET https://**") {
		t.Errorf("got code %d, %s, want the unlisted want\n%s", code, out, screen)
	}
}

// An index that lies, or that names what it must not, installs nothing.
func TestAdd_refusesBadEntriesOfAnIndex(t *testing.T) {
	i := newIndexed(t)
	file := filepath.Join(t.TempDir(), "x.wasm")
	put(t, file, speaker("Speaks.", "one"))
	other := "sha256:" + strings.Repeat("0", 64)
	entry := func(name, from, digest string) string {
		return fmt.Sprintf(`{"name":%q,"source":%q,"digest":%q}`, name, from, digest)
	}
	i.write(entry("lie", file, other), entry("gone", i.from, other), entry("two", file, other), entry("two", i.from, i.digest),
		entry("private", i.from, i.digest), entry("short", file, "sha256:1"), entry("elsewhere", "ftp://a.example/x", other))
	for name, c := range map[string]struct {
		args       []string
		want, hint string
	}{
		"other bytes":     {[]string{"lie"}, "its bytes are " + fileid.Digest(speaker("Speaks.", "one")) + ", and the index", ""},
		"other image":     {[]string{"gone", i.host()}, "has no such plugin", ""},
		"two plugins":     {[]string{"two"}, "2 plugins have the name two", "add one by its source"},
		"private network": {[]string{"private"}, "a loopback address, which is refused", "names it, if it is yours"},
		"bad digest":      {[]string{"short"}, "is no digest", "sallyport search WORD"},
		"bad source":      {[]string{"elsewhere"}, "is no scheme of a source", "sallyport search WORD"},
		"no such name":    {[]string{"none"}, "no index has a plugin of that name", "sallyport search WORD"},
		"relative index":  {[]string{"lie", "--index", "gone.json"}, "no such file", ""},
		"bad index":       {[]string{"lie", "--index", "ftp://a.example/x"}, "is no address of an index", ""},
	} {
		out, err := i.program(append([]string{"add", c.args[0], i.dir}, c.args[1:]...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), c.hint) || i.files() != "" {
			t.Errorf("%s: got %s, %v and files %q, want %q", name, out, err, i.files(), c.want)
		}
	}
}

// A name that is a file too is not guessed; without an index a name is a file.
func TestAdd_doesNotGuessBetweenAFileAndAName(t *testing.T) {
	i := newIndexed(t)
	work := t.TempDir()
	put(t, filepath.Join(work, "speaker"), speaker("Speaks.", "another"))
	in := func(args ...string) string {
		cmd := i.program(args...)
		cmd.Dir = work
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%v: got success, want an error: %s", args, out)
		}
		return string(out)
	}
	if out := in("add", "speaker", i.dir); !strings.Contains(out, "speaker is a file here, and could be a name of an index too") || !strings.Contains(out, "./speaker is the file") {
		t.Errorf("got %s, want it refused", out)
	}
	put(t, filepath.Join(i.home, "sallyport.yaml"), []byte("indexes: [index.json]\n"))
	if out := in("search"); !strings.Contains(out, "depends on the working directory") {
		t.Errorf("got %s, want the whole path asked for", out)
	}
	put(t, filepath.Join(i.home, "sallyport.yaml"), []byte(""))
	if out := in("search"); !strings.Contains(out, "no index is named") || !strings.Contains(out, "indexes: in ") {
		t.Errorf("got %s, want a hint", out)
	}
	if out := in("add", "none", i.dir); !strings.Contains(out, filepath.Join(work, "none")+": no such file") {
		t.Errorf("got %s, want a missing file", out)
	}
}
