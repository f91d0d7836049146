package hostfuncs_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// What a line denies is not there for a plugin, with all in it: nothing that a call is told, up to the landing of its
// writes, depends on whether the host has it.
func TestFS_NoOracleBelowWhatIsDenied(t *testing.T) {
	for _, lines := range [][]string{
		{"fs: write ~/work/**", "deny: fs: read ~/work/*.key"},
		{"fs: write ~/work/**", "fs: write ~/work/x.key/sub/n", "deny: fs: read ~/work/*.key"},
		{"fs: write ~/work/**", "deny: fs: read ~/work/x.key/sub"},
		{"fs: write ~/work/** {mode: direct}", "deny: fs: read ~/work/*.key"},
	} {
		var told []string
		for _, there := range []bool{false, true} {
			home := world(t)
			if there {
				written(t, map[string]string{home + "/work/x.key/sub/old": "secret"})
			} else if lines[len(lines)-1] == "deny: fs: read ~/work/x.key/sub" {
				written(t, map[string]string{home + "/work/x.key/other": ""})
			}
			all := ""
			for _, path := range []string{"/work/x.key", "/work/x.key/sub", "/work/x.key/sub/n", "/work/x.key/sub/old", "/work/x.key/n/../sub/n"} {
				if !strings.Contains(path, "sub") && strings.HasSuffix(lines[len(lines)-1], "sub") {
					continue
				}
				for _, do := range []func(tr wasi.Tree) wasi.Errno{
					func(tr wasi.Tree) wasi.Errno { return writeFile(tr, home+path, "x") },
					func(tr wasi.Tree) wasi.Errno { _, e := readFile(tr, home+path); return e },
					func(tr wasi.Tree) wasi.Errno { _, e := tr.Stat(home+path, true); return e },
					func(tr wasi.Tree) wasi.Errno { return tr.Mkdir(home + path) },
					func(tr wasi.Tree) wasi.Errno { return tr.Symlink("a", home+path) },
					func(tr wasi.Tree) wasi.Errno { return tr.Rename(home+"/work/a.txt", home+path) },
					func(tr wasi.Tree) wasi.Errno { return tr.Unlink(home + path) },
				} {
					g, tr := filesOf(t, hostfuncs.Options{Home: home}, lines...)
					e := do(tr)
					landed := g.Land(t.Context())
					var end *runtime.EndError
					_ = errors.As(landed, &end)
					all += fmt.Sprintf("%s: %d %v %v %d\n", path, e, landed == nil, end, len(g.Denials()))
					g.Close()
				}
			}
			told = append(told, all)
			if _, err := os.Stat(home + "/work/x.key/sub/n"); err == nil {
				t.Errorf("%q: something was written below", lines)
			}
		}
		if told[0] != told[1] {
			t.Errorf("%q: it is told that the folder is there:\n%s\n%s", lines, told[0], told[1])
		}
	}
}

// Writes of other calls on their way are nobody's business.
func TestFS_TemporariesAreHidden(t *testing.T) {
	for _, mode := range []string{"", " {mode: direct}"} {
		home := world(t)
		written(t, map[string]string{home + "/work/.sallyport-abc-0": "secret", home + "/work/.sallyport-abc-1/in/x": "secret", home + "/work/sub/.sallyport-abc-2-was": "secret"})
		for _, before := range []bool{false, true} { // the call has written something
			_, tr := filesOf(t, hostfuncs.Options{Home: home}, "fs: write ~/work/**"+mode, "fs: write ~/work/.sallyport-abc-0")
			if before && writeFile(tr, home+"/work/mine", "x") != 0 {
				t.Fatal("it cannot write")
			}
			for _, name := range []string{".sallyport-abc-0", ".Sallyport-abc-0", ".sallyport-abc-1", ".sallyport-abc-1/in", ".sallyport-abc-1/in/x", "sub/.sallyport-abc-2-was", ".sallyport-new"} {
				if done := everything(tr, home+"/work/"+name, home+"/work/beside"); len(done) > 0 {
					t.Errorf("%s: %s: %s", mode, name, done)
				}
			}
			for _, dir := range []string{"", "/sub"} {
				f, e := tr.Open(home+"/work"+dir, wasi.OpenOptions{Read: true, Directory: true})
				if e != 0 {
					t.Fatal(e)
				}
				for {
					list, _ := f.ReadDir(100)
					if len(list) == 0 {
						break
					}
					for _, entry := range list {
						if strings.HasPrefix(entry.Name, ".sallyport-") {
							t.Errorf("%s is listed", entry.Name)
						}
					}
				}
				f.Close()
			}
		}
	}
}
