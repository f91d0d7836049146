package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A comment that names a source map is no way to a file: the bundle is made of the approved bytes alone.
func TestExpand_readsNoSourceMap(t *testing.T) {
	other := filepath.ToSlash(write(t, "other.map", `{"version":3,"sources":["made-up.ts"],"mappings":"AAAA"}`))
	for _, comment := range []string{"//# ", "//@ ", "/*# "} {
		s := &Source{Entry: "a.js", Files: []File{{Path: "a.js", Text: "globalThis.x = 1;\n" + comment + "sourceMappingURL=file://" + other + " */\n"}}}
		made, err := s.bundle()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(made.sourceMap), "made-up") {
			t.Errorf("%s: got the source map %s, want that of the sources", comment, made.sourceMap)
		}
	}
}

// The stamp of a script reads files below its folder only, and no device.
func TestInputs_staysInTheFolder(t *testing.T) {
	outside := write(t, "secret.js", "import './beside.js'", "beside.js", "")
	relative := "../" + filepath.Base(filepath.Dir(outside)) + "/secret.js"
	path := write(t, "a.js", "import './b.js'; import './link.js'; import '"+relative+"'", "b.js", "")
	if err := os.Symlink(outside, filepath.Join(filepath.Dir(path), "link.js")); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(Inputs(path), " "), filepath.Join(filepath.Dir(path), "b.js"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A pattern in an import stands for no file of the machine: the bundler resolves it on the disk.
func TestExpand_readsNoFileByAPattern(t *testing.T) {
	secret := filepath.ToSlash(filepath.Dir(write(t, "secret.json", `"made-up"`, "secret", "made-up")))
	up := "./" + strings.Repeat("../", 40) + strings.TrimPrefix(secret, "/") // however deep the working folder is
	for name, text := range map[string]string{
		"a template": "const x = 'secret'; globalThis.x = await import(`" + up + "/${x}.json`)",
		"a sum":      "const x = 'secret'; globalThis.x = await import('" + up + "/' + x + '.json')",
		"as text":    "const x = 'secret'; globalThis.x = await import(`" + up + "/${x}`, {with: {type: 'text'}})",
		"a require":  "const x = 'secret'; globalThis.x = require(`" + up + "/${x}.json`)",
	} {
		s := &Source{Entry: "a.js", Files: []File{{Path: "a.js", Text: text}}}
		if made, err := s.bundle(); err == nil {
			t.Errorf("%s: got the bundle %s, want an error", name, made.text)
		}
	}
	s := &Source{Entry: secret + "/*.json", Files: []File{{Path: secret + "/*.json", Text: "globalThis.x = 1"}}}
	if made, err := s.bundle(); err == nil && strings.Contains(string(made.text), "made-up") {
		t.Errorf("an entry: got the bundle %s, want it without the file", made.text)
	}
}

// The paths in one file that are looked for are bounded: a text can name any number of files that do not exist.
func TestInputs_boundsTheSearchForImports(t *testing.T) {
	text := strings.Repeat("import './none';\n", 2000) + "import './b.js';\n"
	if got := Inputs(write(t, "a.js", text, "b.js", "")); len(got) != 0 {
		t.Errorf("got %q, want nothing behind 2000 other imports", got)
	}
}
