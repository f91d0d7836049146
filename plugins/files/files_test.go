package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

// folder makes files and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// args are the arguments of a call about a path.
type args map[string]any

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// expect calls a tool and compares its text. want begins with ! for an error, and $ stands for dir.
func expect(t *testing.T, h *sallyporttest.Host, dir, tool string, a args, want string) {
	t.Helper()
	r := h.Call(tool, a)
	want, isError := strings.CutPrefix(want, "!")
	if got := strings.ReplaceAll(r.Text(), dir, "$"); got != want || r.IsError != isError {
		t.Errorf("%s %v: isError %v\ngot  %s\nwant %s", tool, a, r.IsError, got, want)
	}
}

func TestList_showsTheTreeBelowAFolder(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	dir := folder(t, map[string]string{"a.txt": "12345", "b/c.txt": "", "b/d/e.txt": "", ".hidden/x": "", "b/.dot": ""})
	names := func(a args) string {
		var all []string
		for _, l := range strings.Split(h.Call("list", a).Text(), "\n")[1:] {
			f := strings.Fields(l)
			all = append(all, f[len(f)-1])
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		a    args
		want string
	}{
		{args{"path": dir}, "a.txt b/"},
		{args{"path": dir, "depth": 2}, "a.txt b/ b/c.txt b/d/"},
		{args{"path": dir, "depth": 9, "hidden": true}, ".hidden/ .hidden/x a.txt b/ b/.dot b/c.txt b/d/ b/d/e.txt"},
		{args{"path": dir + "/b/d/.."}, "c.txt d/"},
		{args{"path": "file://" + dir}, "a.txt b/"},
	} {
		if got := names(c.a); got != c.want {
			t.Errorf("%v: got %s, want %s", c.a, got, c.want)
		}
	}
	if got := h.Call("list", args{"path": dir + "/a.txt"}).Text(); !strings.HasPrefix(got, "         5  20") {
		t.Errorf("a file: got %q, want \"         5  20\" at its begin", got)
	}
	expect(t, h, dir, "list", args{"path": dir + "/.hidden"}, "$/.hidden:\n         0  "+h.Call("list", args{"path": dir + "/.hidden/x"}).Text()[12:28]+"  x")
	expect(t, h, dir, "list", args{"path": dir + "/none"}, "!$/none does not exist or is not granted; grants begin at /")
	empty := t.TempDir()
	expect(t, h, empty, "list", args{"path": empty}, "$:\n(empty)")
}

func TestList_boundsItsLines(t *testing.T) {
	dir := t.TempDir()
	for i := range maxEntries + 5 {
		if err := os.WriteFile(filepath.Join(dir, strings.Repeat("x", i%7+1)+string(rune('a'+i%26))+strings.Repeat("y", i/26)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got := sallyporttest.New(t, plugin).Call("list", args{"path": dir}).Text()
	if n := strings.Count(got, "\n"); n != maxEntries+1 || !strings.HasSuffix(got, "list a folder below, or less deep") {
		t.Errorf("got %d lines ending %q, want %d and the advice to list less", n, got[len(got)-60:], maxEntries+1)
	}
}

func TestRead_returnsLinesOfAFile(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	dir := folder(t, map[string]string{
		"t.txt": "one\ntwo\nthree\nfour", "empty": "", "bin": "a\x00b", "latin": "gr\xfc\xdfe", "p.png": "\x89PNG\x00",
		"long.txt": strings.Repeat("0123456789abcdef\n", 10000), "line.txt": strings.Repeat("ä", maxShown),
		"big.png": "\x89PNG\x00" + strings.Repeat("x", maxBinary),
	})
	for _, c := range []struct {
		a    args
		want string
	}{
		{args{"path": dir + "/t.txt"}, "one\ntwo\nthree\nfour"},
		{args{"path": dir + "/t.txt", "start": 2, "lines": 2}, "two\nthree\n\n(lines 2 to 3 of 4)"},
		{args{"path": dir + "/t.txt", "start": -1}, "four\n(lines 4 to 4 of 4)"},
		{args{"path": dir + "/t.txt", "start": -9, "lines": 1}, "one\n\n(lines 1 to 1 of 4)"},
		{args{"path": dir + "/t.txt", "start": 9}, "\n(lines 4 to 4 of 4)"},
		{args{"path": dir + "/empty"}, ""},
		{args{"path": dir + "/bin"}, "!$/bin is not a text: 3 bytes of application/octet-stream"},
		{args{"path": dir + "/latin"}, "!$/latin is not a text: 5 bytes of application/octet-stream"},
		{args{"path": dir + "/big.png"}, "!$/big.png is an image of 184325 bytes, too large to show"},
		{args{"path": dir}, "!$ is a folder; the list tool shows it"},
		{args{"path": dir + "/none"}, "!$/none does not exist or is not granted; grants begin at /"},
	} {
		expect(t, h, dir, "read", c.a, c.want)
	}
	if r := h.Call("read", args{"path": dir + "/p.png"}); r.Content[0].Type != "image" || r.Content[0].MIMEType != "image/png" {
		t.Errorf("p.png: got %s, want an image/png", r.Raw)
	}
	if got := h.Call("read", args{"path": dir + "/long.txt", "start": 10}).Text(); !strings.HasSuffix(got, "(lines 10 to 6032 of 10000)") {
		t.Errorf("long: got an end of %q, want lines 10 to 6032 of 10000", got[len(got)-60:])
	}
	if got := h.Call("read", args{"path": dir + "/line.txt"}).Text(); !strings.HasSuffix(got, "ä\n(line 1 is cut after 102400 bytes)") {
		t.Errorf("line: got an end of %q, want line 1 cut after 102400 bytes", got[len(got)-60:])
	}
}

func TestLoad_refusesLargeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := load(path); err == nil || !strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("got %v, want \"larger than 8 MiB\" in it", err)
	}
}

func TestSearch_findsLinesAndTheirContext(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	dir := folder(t, map[string]string{
		"a.go": "package a\n\nfunc F() {}\nfunc G() {}\n", "sub/b.go": "func H() {}\r\n", "sub/deep/c.txt": "func no\nFUNC yes(1)\n",
		".git/d.go": "func hidden() {}", "bin.go": "func\x00", "long.txt": strings.Repeat("z", 400) + " needle",
	})
	for _, c := range []struct {
		a    args
		want string
	}{
		{args{"pattern": `^func \w+\(`}, "a.go:3:func F() {}\na.go:4:func G() {}\nsub/b.go:1:func H() {}\n(3 matches in $)"},
		{args{"pattern": "func", "files": "*.txt"}, "sub/deep/c.txt:1:func no\n(1 matches in $)"},
		{args{"pattern": "FUNC YES(1)", "literal": true, "ignoreCase": true}, "sub/deep/c.txt:2:FUNC yes(1)\n(1 matches in $)"},
		{args{"pattern": "func G", "context": 1}, "a.go-3-func F() {}\na.go:4:func G() {}\n(1 matches in $)"},
		{args{"pattern": "func", "context": 5, "files": "a.go"}, "a.go-1-package a\na.go-2-\na.go:3:func F() {}\na.go:4:func G() {}\n(2 matches in $)"},
		{args{"pattern": "func", "max": 1}, "a.go:3:func F() {}\n(the first 1 matches in $; there are more)"},
		{args{"pattern": "hidden", "hidden": true}, ".git/d.go:1:func hidden() {}\n(1 matches in $)"},
		{args{"pattern": "hidden"}, "no match in $"},
		{args{"pattern": "needle"}, "long.txt:1:" + strings.Repeat("z", maxLine) + "…\n(1 matches in $)"},
		{args{"files": "**/*.go"}, "a.go\nbin.go\nsub/b.go\n(3 files in $)"},
		{args{"files": "sub/**"}, "sub/b.go\nsub/deep/c.txt\n(2 files in $)"},
		{args{"files": "c.*"}, "sub/deep/c.txt\n(1 files in $)"},
		{args{"pattern": "("}, "!pattern: error parsing regexp: missing closing ): `(`; set literal to search for plain text"},
		{args{}, "!give a pattern to search for, or files to look for, or both"},
	} {
		c.a["path"] = dir
		expect(t, h, dir, "search", c.a, c.want)
	}
	expect(t, h, dir, "search", args{"path": dir + "/a.go", "pattern": "G"}, "a.go:4:func G() {}\n(1 matches in $/a.go)")
	expect(t, h, dir, "search", args{"path": dir + "/no", "pattern": "G"}, "!$/no does not exist or is not granted; grants begin at /")
}

func TestSearch_countsSkippedLargeFiles(t *testing.T) {
	dir := folder(t, map[string]string{"a.txt": "x"})
	if err := os.Truncate(filepath.Join(dir, "a.txt"), maxSearched+1); err != nil {
		t.Fatal(err)
	}
	expect(t, sallyporttest.New(t, plugin), dir, "search", args{"path": dir, "pattern": "x"}, "no match in $; 1 files over 4 MiB were not searched")
}

func TestMatchGlob_matchesSegments(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a/b/c.go", true}, {"a/*.go", "a/c.go", true}, {"a/*.go", "a/b/c.go", false}, {"a/**/*.go", "a/c.go", true},
		{"a/**/*.go", "a/b/d/c.go", true}, {"**", "a/b", true}, {"a/**", "b/a", false}, {"/a/b/", "a/b", true}, {"[", "[", false}, {"a/[", "a/[", false},
	} {
		if got := matchGlob(c.pattern, c.path); got != c.want {
			t.Errorf("%s %s: got %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
}

func TestWrite_replacesFiles(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	dir := folder(t, map[string]string{"old.txt": "old and long\n"})
	expect(t, h, dir, "write", args{"path": dir + "/new/x.txt", "text": "hello\n"}, "wrote 6 bytes to $/new/x.txt")
	expect(t, h, dir, "write", args{"path": dir + "/old.txt", "text": "x"}, "!$/old.txt is there already; use mode overwrite or append, or the edit tool")
	expect(t, h, dir, "write", args{"path": dir + "/one.txt", "text": "x"}, "wrote 1 byte to $/one.txt")
	expect(t, h, dir, "write", args{"path": dir + "/old.txt", "text": "new\n", "mode": "overwrite"}, "wrote 4 bytes to $/old.txt")
	expect(t, h, dir, "write", args{"path": dir + "/old.txt", "text": "more\n", "mode": "append"}, "wrote 5 bytes to $/old.txt")
	if got := content(t, dir+"/old.txt"); got != "new\nmore\n" {
		t.Errorf("got %q, want %q", got, "new\nmore\n")
	}
	if r := h.Call("write", args{"path": dir, "text": "x", "mode": "overwrite"}); !r.IsError || !strings.Contains(r.Text(), "is a directory") {
		t.Errorf("over a folder: got %s, want an error that it is a directory", r.Raw)
	}
	if r := h.Call("write", args{"path": dir + "/old.txt/below", "text": "x"}); !r.IsError {
		t.Errorf("below a file: got %s, want an error", r.Raw)
	}
}

func TestEdit_appliesEditsInOrder(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	start := "one two\nthree\none\n"
	for _, c := range []struct {
		edits []textChange
		want  string // expected output
		after string // "" if nothing is written
	}{
		{[]textChange{{Old: "three", New: "3"}}, "$/f\n@@ line 2 @@\n-three\n+3\n", "one two\n3\none\n"},
		{[]textChange{{Old: "two\nthree", New: "x"}, {Old: "x\n", New: ""}}, "$/f\n@@ line 1 @@\n-one two\n-three\n+one x\n@@ line 1 @@\n-one x\n-one\n+one one\n", "one one\n"},
		{[]textChange{{Old: "one", New: "1", All: true}}, "$/f\n@@ line 1 and 1 more @@\n-one two\n+1 two\n", "1 two\nthree\n1\n"},
		{[]textChange{{Old: "three", New: "3"}, {Old: "nope", New: ""}}, "!$/f: edit 2: the old text is not in the file; nothing was written", ""},
		{[]textChange{{Old: "one", New: "1"}}, "!$/f: edit 1: the old text is in the file 2 times, at lines 1, 3; give more of it, or set all; nothing was written", ""},
		{[]textChange{{Old: "one  two\n three", New: "1"}}, "!$/f: edit 1: the old text is not in the file; it would fit if white space did not matter, so read the file again; nothing was written", ""},
	} {
		dir := folder(t, map[string]string{"f": start})
		expect(t, h, dir, "edit", args{"path": dir + "/f", "edits": c.edits, "dryRun": true}, c.want)
		if got := content(t, dir+"/f"); got != start {
			t.Errorf("%v in a dry run: got %q, want %q", c.edits, got, start)
		}
		expect(t, h, dir, "edit", args{"path": dir + "/f", "edits": c.edits}, c.want)
		if c.after == "" {
			c.after = start
		}
		if got := content(t, dir+"/f"); got != c.after {
			t.Errorf("%v: got file %q, want %q", c.edits, got, c.after)
		}
	}
}

func TestEdit_keepsLineEnds(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	dir := folder(t, map[string]string{"dos": "a\r\nb\r\nc\r\n", "bin": "\x00"})
	h.Call("edit", args{"path": dir + "/dos", "edits": []textChange{{Old: "a\nb", New: "x\ny"}}})
	if got := content(t, dir+"/dos"); got != "x\r\ny\r\nc\r\n" {
		t.Errorf("got %q, want %q", got, "x\r\ny\r\nc\r\n")
	}
	for _, c := range []struct {
		file string
		edit textChange
		want string
	}{
		{"a\r\nb\r\n", textChange{Old: "a\nb", New: "x\r\ny"}, "x\r\ny\r\n"}, // no second carriage return
		{"a\r\nb\r\n", textChange{Old: "b", New: "b\nc"}, "a\r\nb\r\nc\r\n"},
		{"a\r\nb", textChange{Old: "b", New: "b\nc"}, "a\r\nb\r\nc"},
		{"a\nb\r\nc\nd\n", textChange{Old: "a\nb\nc", New: "1\n2"}, "1\n2\nd\n"}, // mixed line ends: the kind of the place
		{"a\nb\r\nc\r\n", textChange{Old: "b\nc", New: "1\n2"}, "a\n1\r\n2\r\n"},
		{"a\r\nb\r\n", textChange{Old: "a\r\nb", New: "a\nb"}, "a\nb\r\n"}, // exactly as given
		{"a\nb\n", textChange{Old: "a", New: "a\r\nx"}, "a\r\nx\nb\n"},
		{"x\r\nx\nx\r\n", textChange{Old: "x\n", New: "y\n", All: true}, "y\r\ny\ny\r\n"},
		{"a\rb\r\n", textChange{Old: "a\rb", New: "c"}, "c\r\n"},
		{"one\r\n", textChange{Old: "\n", New: ""}, "one"},
		{"aaa", textChange{Old: "aa", New: "b", All: true}, "ba"},
	} {
		dir := folder(t, map[string]string{"f": c.file})
		r := h.Call("edit", args{"path": dir + "/f", "edits": []textChange{c.edit}})
		if got := content(t, dir+"/f"); got != c.want || r.IsError {
			t.Errorf("%q, %+v: %q, want %q\n%s", c.file, c.edit, got, c.want, r.Text())
		}
	}
	expect(t, h, dir, "edit", args{"path": dir + "/bin", "edits": []textChange{{Old: "a", New: "b"}}}, "!$/bin is not a text")
}

func TestResources_readGrantedFiles(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	dir := folder(t, map[string]string{"a b.md": "# x", "bin": "\x00\x01", "sub/y.json": "{}", "big": "\x00" + strings.Repeat("x", maxBinary)})
	for _, c := range []struct{ name, mime, text, blob string }{
		{"/a%20b.md", "text/markdown", "# x", ""}, {"/bin", "application/octet-stream", "", "\x00\x01"}, {"/sub/y.json", "application/json", "{}", ""},
	} {
		all, err := h.Read("file://" + dir + c.name)
		if err != nil || len(all) != 1 {
			t.Errorf("%s: got %d contents, %v; want 1", c.name, len(all), err)
			continue
		}
		if r := all[0]; r.MIMEType != c.mime || r.Text != c.text || string(r.Blob) != c.blob || r.URI != "file://"+dir+c.name {
			t.Errorf("%s: got %+v, want type %s, text %q, blob %q", c.name, r, c.mime, c.text, c.blob)
		}
	}
	for name, code := range map[string]int{"/none": sallyport.CodeInvalidParams, "/big": sallyport.CodeInternal, "/sub": sallyport.CodeInternal} {
		_, err := h.Read("file://" + dir + name)
		if e, ok := errors.AsType[*sallyport.Error](err); !ok || e.Code != code {
			t.Errorf("%s: got %v, want code %d", name, err, code)
		}
	}
}

func TestCompletePath_suggestsGrantedPaths(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	dir := folder(t, map[string]string{"alpha.txt": "", "alps/x": "", "beta": ""})
	got, err := h.CompleteTemplate("file:///{+path}", "path", dir[1:]+"/al")
	if want := dir[1:] + "/alpha.txt " + dir[1:] + "/alps/"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("got %v, %v; want %s", got, err, want)
	}
	if got, err := h.CompleteTemplate("file:///{+path}", "path", "no/such/folder/"); err != nil || len(got) != 0 {
		t.Errorf("no such folder: got %v, %v; want no values, no error", got, err)
	}
}
