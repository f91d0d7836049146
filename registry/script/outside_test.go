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
