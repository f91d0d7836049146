package hostfuncs_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// world returns a home folder with files, on a real file system.
func world(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"work/a.txt": "A", "work/sub/b.md": "B", "work/.git/config": "[core]", "other/c.txt": "C", "work/.vscode/settings.json": "{}",
		".ssh/id": "KEY", "state/sallyport/keys/k": "K", "state/sallyport/sallyport.yaml": "Y",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// filesOf opens a gate for files and returns its tree.
func filesOf(t *testing.T, o hostfuncs.Options, lines ...string) (*hostfuncs.Gate, wasi.Tree) {
	t.Helper()
	g := newGate(t, &o, lines...)
	return g, g.Files()
}

func readFile(tr wasi.Tree, path string) (string, wasi.Errno) {
	f, e := tr.Open(path, wasi.OpenOptions{Read: true})
	if e != 0 {
		return "", e
	}
	defer f.Close()
	buf := make([]byte, 100)
	n, e := f.ReadAt(buf, 0)
	return string(buf[:n]), e
}

func writeFile(tr wasi.Tree, path, text string) wasi.Errno {
	f, e := tr.Open(path, wasi.OpenOptions{Write: true, Create: true, Truncate: true})
	if e != 0 {
		return e
	}
	defer f.Close()
	_, e = f.WriteAt([]byte(text), 0)
	return e
}

func TestFS_holdsWritesBackUntilLand(t *testing.T) {
	home := world(t)
	g, tr := filesOf(t, hostfuncs.Options{Home: home}, "fs: read ~/work/**", "fs: write ~/work/sub/**", "deny: fs: read ~/work/sub/b.md")
	if text, e := readFile(tr, home+"/work/a.txt"); text != "A" || e != 0 {
		t.Errorf("a granted file: got %q, errno %v, want A", text, e)
	}
	if e := writeFile(tr, home+"/work/sub/new", "N"); e != 0 {
		t.Errorf("a granted write: got errno %v, want success", e)
	}
	if text, e := readFile(tr, home+"/work/sub/new"); text != "N" || e != 0 {
		t.Errorf("a written file, read by its call: got %q, errno %v, want N", text, e)
	}
	if _, err := os.Stat(home + "/work/sub/new"); err == nil {
		t.Error("a written file before its call has landed: got it on the host, want none")
	}
	if err := g.Land(t.Context()); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(home + "/work/sub/new"); string(text) != "N" {
		t.Errorf("a written file after landing: got %q, want N", text)
	}
	if _, e := readFile(tr, home+"/other/c.txt"); e != wasi.ENOENT {
		t.Errorf("a file that is not granted: got errno %v, want %v", e, wasi.ENOENT)
	}
	if _, e := readFile(tr, home+"/work/sub/b.md"); e != wasi.ENOENT {
		t.Errorf("a denied file: got errno %v, want %v", e, wasi.ENOENT)
	}
	if e := writeFile(tr, home+"/work/a.txt", "X"); e != wasi.EACCES {
		t.Errorf("a write to a file granted for reading: got errno %v, want %v", e, wasi.EACCES)
	}
	want := []receipt.Denial{
		{Family: "fs", Effect: "read ~/other/c.txt", Reason: `plugin "demo" may not read ~/other/c.txt: no grant allows it`, Hint: "fs: read ~/other/c.txt", Count: 1},
		{Family: "fs", Effect: "read ~/work/sub/b.md", Reason: `plugin "demo" may not read ~/work/sub/b.md: a grant denies it`, Count: 1},
		{Family: "fs", Effect: "write ~/work/a.txt", Reason: `plugin "demo" may not write ~/work/a.txt: no grant allows it`, Hint: "fs: write ~/work/a.txt", Count: 1},
	}
	if got := g.Denials(); !slices.Equal(got, want) {
		t.Errorf("denials are\n%+v, want\n%+v", got, want)
	}
	var targets []string
	for _, e := range g.Receipt().Effects {
		targets = append(targets, e.Family+" "+e.Target)
	}
	if !slices.Contains(targets, "fs read ~/work/a.txt") || !slices.Contains(targets, "fs write ~/work/sub/new") {
		t.Errorf("got effects %q, want both the read of ~/work/a.txt and the write of ~/work/sub/new", targets)
	}
}

// listDir opens a folder for listing and returns its names.
func listDir(tr wasi.Tree, path string) (names string, e wasi.Errno) {
	f, e := tr.Open(path, wasi.OpenOptions{Read: true, Directory: true})
	if e != 0 {
		return "", e
	}
	defer f.Close()
	for {
		list, e := f.ReadDir(10)
		if e != 0 || len(list) == 0 {
			return names, e
		}
		for _, d := range list {
			names += d.Name + " "
		}
	}
}

// TestFS_listingIsSeparateEffect checks that listing a folder is a separate effect; if a line shows none of its names,
// it is denied, not empty.
func TestFS_listingIsSeparateEffect(t *testing.T) {
	home := world(t)
	for line, want := range map[string]string{
		"fs: read ~/work/*":   "",
		"fs: read ~/work/**":  "",
		"fs: read ~/work/a.*": "",
		"fs: read ~/work":     "fs: read ~/work/*",
		"fs: read ~/other/**": "fs: read ~/work/*",
	} {
		g, tr := filesOf(t, hostfuncs.Options{Home: home}, line)
		names, e := listDir(tr, home+"/work")
		if done := e == 0 && strings.Contains(names, "a.txt"); done != (want == "") {
			t.Errorf("%s: got names %q, errno %d, want a refusal: %t", line, names, e, want != "")
		}
		if done := has(g.Receipt().Effects, "list ~/work"); done != (want == "") {
			t.Errorf("%s: got effects %+v, want list ~/work: %t", line, g.Receipt().Effects, want == "")
		}
		if d := g.Denials(); want != "" && (len(d) != 1 || d[0].Effect != "list ~/work" || d[0].Hint != want) {
			t.Errorf("%s: got denials %+v, want one of list ~/work with hint %q", line, d, want)
		}
	}
}

// TestFS_relativePathWithoutWorkspaceSuggestsNoLine checks that a relative path without a workspace is no host file: no
// line for it is suggested.
func TestFS_relativePathWithoutWorkspaceSuggestsNoLine(t *testing.T) {
	g, tr := filesOf(t, hostfuncs.Options{Home: world(t)}, "fs: read ~/work/**")
	if _, e := readFile(tr, "/workspace/a.txt"); e != wasi.ENOENT {
		t.Errorf("got errno %v, want ENOENT", e)
	}
	if d := g.Denials(); len(d) != 1 || d[0].Hint != "" || !strings.Contains(d[0].Reason, "no workspace is set") {
		t.Errorf("got denials %+v, want one without a line, as no workspace is set", d)
	}
}

func TestFS_patternsCoverMatchesOnly(t *testing.T) {
	home := world(t)
	_, tr := filesOf(t, hostfuncs.Options{Home: home}, "fs: read ~/work/**/*.md", "fs: read ~/other/c.txt")
	if text, e := readFile(tr, home+"/work/sub/b.md"); text != "B" || e != 0 {
		t.Errorf("a file below a folder that is not granted itself: got %q, errno %v, want B", text, e)
	}
	if text, e := readFile(tr, home+"/other/c.txt"); text != "C" || e != 0 {
		t.Errorf("a grant of one file: got %q, errno %v, want C", text, e)
	}
	if _, e := readFile(tr, home+"/work/a.txt"); e != wasi.ENOENT {
		t.Errorf("a file of another name: got errno %v, want %v", e, wasi.ENOENT)
	}
}

func TestFS_withoutGrantsSuggestsLine(t *testing.T) {
	home := world(t)
	g, tr := filesOf(t, hostfuncs.Options{Home: home})
	if _, e := readFile(tr, home+"/work/a.txt"); e != wasi.ENOENT {
		t.Errorf("without grants: got errno %v, want %v", e, wasi.ENOENT)
	}
	if d := g.Denials(); len(d) != 1 || d[0].Hint != "fs: read ~/work/a.txt" {
		t.Errorf("got denials %+v, want one with hint fs: read ~/work/a.txt", d)
	}
}

func TestFS_deniesLinksOutOfGrant(t *testing.T) {
	home := world(t)
	if err := os.Symlink(filepath.Join(home, "other"), filepath.Join(home, "work", "out")); err != nil {
		t.Skip(err)
	}
	g, tr := filesOf(t, hostfuncs.Options{Home: home}, "fs: read ~/work/**")
	if _, e := readFile(tr, home+"/work/out/c.txt"); e != wasi.ENOENT {
		t.Errorf("through a link: got errno %v, want %v", e, wasi.ENOENT)
	}
	if d := g.Denials(); len(d) != 1 || d[0].Hint != "fs: read ~/other/c.txt" {
		t.Errorf("got denials %+v, want one with hint fs: read ~/other/c.txt", d)
	}
}

func TestFS_sparedUnlessSpelledOut(t *testing.T) {
	home := world(t)
	g, tr := filesOf(t, hostfuncs.Options{Home: home}, "fs: write ~/**", "fs: write ~/work/.vscode/**")
	_ = writeFile(tr, home+"/work/.git/config", "x")
	want := receipt.Denial{Family: "fs", Effect: "write ~/work/.git/config", Count: 1, Hint: "fs: write ~/work/.git/config",
		Reason: `plugin "demo" may not write ~/work/.git/config: no grant spells it out`}
	if d := g.Denials(); len(d) != 1 || d[0] != want {
		t.Errorf("got denials %+v, want only %+v", d, want)
	}
	for path, want := range map[string]wasi.Errno{
		"/work/.git/config": wasi.EACCES, "/work/.mcp.json": wasi.EACCES, "/.bashrc": wasi.EACCES, "/work/.vscode/x.json": 0, "/work/ok": 0, "/.ssh/authorized_keys": wasi.ENOENT,
	} {
		if e := writeFile(tr, home+path, "x"); (e == 0) != (want == 0) {
			t.Errorf("write %s: %v, want %v", path, e, want)
		}
	}
	if e := tr.Mkdir(home + "/evil"); e != 0 {
		t.Fatalf("got errno %v, want success", e)
	}
	if e := tr.Mkdir(home + "/evil/hooks"); e != 0 {
		t.Fatalf("got errno %v, want success", e)
	}
	if e := tr.Rename(home+"/evil", home+"/other/.git"); e == 0 {
		t.Error("a folder renamed to .git: got success, want a refusal")
	}
	if e := tr.Rename(home+"/work/.git", home+"/work/git"); e == 0 {
		t.Error("a repository's .git renamed: got success, want a refusal")
	}
	if _, e := readFile(tr, home+"/.ssh/id"); e != wasi.ENOENT {
		t.Errorf("a key: got errno %v, want %v", e, wasi.ENOENT)
	}
	if e := tr.Rename(home+"/.ssh", home+"/other/ssh"); e == 0 {
		t.Error("the folder of keys renamed: got success, want a refusal")
	}
}

func TestFS_noGrantReachesProtectedPaths(t *testing.T) {
	home := world(t)
	own := filepath.Join(home, "state", "sallyport")
	alias := filepath.Join(home, "alias")
	if err := os.Symlink(own, alias); err != nil {
		t.Skip(err)
	}
	later := filepath.Join(home, "later", "sallyport")
	o := hostfuncs.Options{Home: home, Protected: []string{alias, later}}
	g, tr := filesOf(t, o, "fs: write ~/**", "fs: write ~/state/sallyport/**", "fs: write ~/alias/**")
	for _, path := range []string{"/state/sallyport/keys/k", "/state/sallyport/sallyport.yaml", "/alias/keys/k", "/state/sallyport/none"} {
		if _, e := readFile(tr, home+path); e != wasi.ENOENT {
			t.Errorf("read %s: got errno %v, want %v", path, e, wasi.ENOENT)
		}
		if e := writeFile(tr, home+path, "x"); e == 0 {
			t.Errorf("write %s: got success, want a refusal", path)
		}
	}
	if e := tr.Rename(home+"/state", home+"/moved"); e == 0 {
		t.Error("the folder above the state renamed: got success, want a refusal")
	}
	_ = tr.Mkdir(home + "/later")
	if e := tr.Mkdir(later); e == 0 {
		t.Error("a protected path made where none was: got success, want a refusal")
	}
	if text, _ := os.ReadFile(own + "/sallyport.yaml"); string(text) != "Y" {
		t.Errorf("the configuration: got %q, want Y unchanged", text)
	}
	for _, d := range g.Denials() {
		if strings.Contains(d.Reason, "Sallyport") && d.Hint != "" {
			t.Errorf("a denial that no grant lifts: got hint %q in %+v, want no hint", d.Hint, d)
		}
	}
	if d := g.Denials()[0]; d.Reason != `plugin "demo" may not read ~/state/sallyport/keys/k: files of Sallyport and of its clients are protected from every grant` {
		t.Errorf("got reason %q, want the protected-files refusal of ~/state/sallyport/keys/k", d.Reason)
	}
}

// TestFS_protectsNewFileWithPrefix checks that a new file beside a protected one, with the protected prefix, is
// protected at once.
func TestFS_protectsNewFileWithPrefix(t *testing.T) {
	home := world(t)
	o := hostfuncs.Options{Home: home, Protected: []string{filepath.Join(home, "work", "client.json.bak-*")}}
	_, tr := filesOf(t, o, "fs: write ~/work/**")
	backup := home + "/work/Client.JSON.bak-1"
	if err := os.WriteFile(backup, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, e := readFile(tr, backup); e != wasi.ENOENT {
		t.Errorf("read a backup: got errno %v, want %v", e, wasi.ENOENT)
	}
	if e := writeFile(tr, home+"/work/client.json.bak-2", "x"); e == 0 {
		t.Error("a write of a new backup: got success, want a refusal")
	}
	if e := tr.Rename(home+"/work", home+"/moved"); e == 0 {
		t.Error("the backup's folder renamed: got success, want a refusal")
	}
	if e := writeFile(tr, home+"/work/client.json", "x"); e != 0 {
		t.Errorf("a file that only begins the same: got errno %v, want success", e)
	}
}

func TestConfig_isWholeEnvironment(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_LEAK", "leak")
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	p := h.Plugin(hostfuncs.Plugin{
		Name: "demo", Grants: mustSet(t, "config: {lang: en, zone: UTC}"),
		Config: map[string]string{"lang": "de", "PWD": "/evil", "a=b": "c", "nul": "\x00", "n": ""},
	})
	if got := p.Env(); !slices.Equal(got, []string{"PWD=/workspace", "lang=de", "n=", "zone=UTC"}) {
		t.Errorf("got environment %q, want PWD, lang, n and zone without the values that are not allowed", got)
	}
}

func TestOutput_logsEachLine(t *testing.T) {
	g, b, _ := logged(t)
	w := g.Output()
	for _, p := range []string{"one\ntw", "o\r\n\n", "\x1b[31mred\n", strings.Repeat("x", 10<<10), "last"} {
		if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("got %d, %v, want %d bytes", n, err, len(p))
		}
	}
	g.Close()
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	want := []string{"one", "two", `\x1b[31mred`, strings.Repeat("x", 4<<10)}
	if len(lines) != len(want) {
		t.Fatalf("got %d lines, want %d:\n%s", len(lines), len(want), b)
	}
	for i, l := range lines {
		if l != "level=INFO msg="+want[i]+" plugin=demo call=c1 stream=stderr" {
			t.Errorf("line %d: got %.80s, want message %.80s", i, l, want[i])
		}
	}
	if tail := g.Stderr(); len(tail) != 8<<10 || !strings.HasSuffix(string(tail), "xlast") {
		t.Errorf("the tail: got %d bytes, want %d that end with xlast", len(tail), 8<<10)
	}
}

func TestOutput_isBounded(t *testing.T) {
	g, b, _ := logged(t)
	w := g.Output()
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 2000 {
		w.Write(line)
	}
	if n := strings.Count(b.String(), "the call writes too much, the rest is dropped"); n != 1 || b.Len() > 2<<20 {
		t.Errorf("got %d warnings and %d logged bytes, want 1 warning and at most %d bytes", n, b.Len(), 2<<20)
	}
}

// TestFS_protectsKeysUnderBothNamesOfHome checks that keys in a home behind a link are protected under both of its
// names.
func TestFS_protectsKeysUnderBothNamesOfHome(t *testing.T) {
	home := world(t)
	link := filepath.Join(t.TempDir(), "me")
	if err := os.Symlink(home, link); err != nil {
		t.Skip(err)
	}
	_, tr := filesOf(t, hostfuncs.Options{Home: link}, "fs: write "+home+"/**", "fs: read ~/**")
	for _, path := range []string{home, link} {
		if text, e := readFile(tr, path+"/work/a.txt"); text != "A" {
			t.Errorf("a granted file below %s: got %q, errno %v, want A", path, text, e)
		}
		if _, e := readFile(tr, path+"/.ssh/id"); e != wasi.ENOENT {
			t.Errorf("a key below %s: got errno %v, want %v", path, e, wasi.ENOENT)
		}
	}
	if e := tr.Rename(home+"/.ssh", home+"/other/ssh"); e == 0 {
		t.Error("the folder of keys renamed: got success, want a refusal")
	}
}

// TestFS_workingDirectoryExistsWithoutWorkspace checks that the working directory exists without a workspace, empty and
// not writable.
func TestFS_workingDirectoryExistsWithoutWorkspace(t *testing.T) {
	g, tr := filesOf(t, hostfuncs.Options{Home: world(t)})
	if st, e := tr.Stat("/workspace", true); e != 0 || st.Type != wasi.TypeDirectory {
		t.Fatalf("/workspace: got %+v, errno %v, want a folder", st, e)
	}
	for path, want := range map[string]string{"/workspace": "", "/": "workspace"} {
		f, e := tr.Open(path, wasi.OpenOptions{Read: true, Directory: true})
		if e != 0 {
			t.Fatalf("%s: got errno %v, want success", path, e)
		}
		var names []string
		list, e := f.ReadDir(10)
		for _, entry := range list {
			names = append(names, entry.Name)
		}
		if got := strings.Join(names, " "); got != want || e != 0 {
			t.Errorf("%s: got entries %q, errno %v, want %q", path, got, e, want)
		}
		f.Close()
	}
	if d := g.Denials(); len(d) != 0 {
		t.Errorf("looking: got denials %+v, want none", d)
	}
	for what, e := range map[string]wasi.Errno{
		"a file": second(tr.Open("/workspace/x", wasi.OpenOptions{Write: true, Create: true})), "a folder": tr.Mkdir("/workspace/y"),
		"removing it": tr.Rmdir("/workspace"), "moving it": tr.Rename("/workspace", "/elsewhere"),
	} {
		if e == 0 {
			t.Errorf("%s: got success, want a refusal", what)
		}
	}
	if len(g.Denials()) == 0 {
		t.Error("refused changes of /workspace: got no denials, want at least one")
	}
}

func second[T any](_ T, e wasi.Errno) wasi.Errno { return e }

// TestFS_directWritesOnceWithJournal checks that a call with a journal writes nothing in place: appended text is there
// once, after success.
func TestFS_directWritesOnceWithJournal(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if err := os.WriteFile(path, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &hostfuncs.Options{State: t.TempDir()}
	lines := []string{"elicitation", "fs: write " + dir + "/** {mode: direct}"}
	appendOnce := func(g *hostfuncs.Gate) error {
		f, e := g.Files().Open(path, wasi.OpenOptions{Read: true, Write: true})
		if e != 0 {
			t.Fatalf("got errno %v, want success", e)
		}
		s, _ := f.Stat()
		if _, e := f.WriteAt([]byte("1"), int64(s.Size)); e != 0 {
			t.Fatalf("got errno %v, want success", e)
		}
		f.Close()
		if _, err := g.Ask(t.Context(), "elicitation/create", json.RawMessage(elicits), nil); err != nil {
			return err
		}
		return g.Land(t.Context())
	}
	j := journal.New()
	if err := appendOnce(askGate(t, &person{suspend: true}, j, o, lines...)); !errors.Is(err, hostfuncs.ErrSuspended) || readAll(t, path) != "0" {
		t.Fatalf("suspended: got error %v and contents %q, want %v and 0", err, readAll(t, path), hostfuncs.ErrSuspended)
	}
	again, err := journal.Decode(j.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	p := &person{answers: map[string]string{"elicitation/create": accepted}}
	if err := appendOnce(askGate(t, p, again, o, lines...)); err != nil || readAll(t, path) != "01" {
		t.Errorf("run again: got error %v and contents %q, want success and 01", err, readAll(t, path))
	}
	if err := appendOnce(askGate(t, p, nil, o, lines...)); err != nil || readAll(t, path) != "011" {
		t.Errorf("in place: got error %v and contents %q, want success and 011", err, readAll(t, path))
	}
}
