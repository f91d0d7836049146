//go:build unix

package hostfuncs_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// hideaways create the objects that may be at a path without a grant.
var hideaways = map[string]func(at string) error{
	"a file":                  func(at string) error { return os.WriteFile(at, []byte("secret"), 0o600) },
	"a folder":                func(at string) error { return os.MkdirAll(at+"/c/d", 0o755) },
	"an empty folder":         func(at string) error { return os.Mkdir(at, 0o755) },
	"a closed folder":         func(at string) error { return os.Mkdir(at, 0) },
	"a link out":              func(at string) error { return os.Symlink("/etc/passwd", at) },
	"a link to nothing":       func(at string) error { return os.Symlink("gone", at) },
	"a link to what is there": func(at string) error { return os.Symlink("ok", at) },
	"a link to itself":        func(at string) error { return os.Symlink("hidden", at) },
}

// hideaway returns a home with an object at work/hidden, beside granted files and links to it.
func hideaway(t *testing.T, hide func(at string) error) string {
	t.Helper()
	home := world(t)
	work := filepath.Join(home, "work")
	for _, err := range []error{
		os.MkdirAll(work+"/ok/in", 0o755), os.WriteFile(work+"/ok/f", []byte("F"), 0o600),
		os.Symlink("../hidden", work+"/ok/link"), os.Symlink("../hidden/c", work+"/ok/link2"), hide(work + "/hidden"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// attempt performs a random operation of a guest, and returns its observations.
func attempt(tr wasi.Tree, r *rand.Rand, paths []string) string {
	some := func(n int) bool { return r.IntN(n) == 0 }
	p, q, follow, what := paths[r.IntN(len(paths))], paths[r.IntN(len(paths))], some(2), r.IntN(9)
	var e wasi.Errno
	var more any
	switch what {
	case 0:
		var s wasi.Stat
		s, e = tr.Stat(p, follow)
		more = s.Type
	case 1:
		var f wasi.File
		o := wasi.OpenOptions{Read: some(2), Write: some(2), Create: some(2), Exclusive: some(4), Truncate: some(4), Directory: some(4), NoFollow: some(4)}
		if f, e = tr.Open(p, o); e == 0 {
			list, _ := f.ReadDir(100)
			var names []string
			for _, d := range list {
				names = append(names, d.Name)
			}
			slices.Sort(names)
			more = names
			f.Close()
		}
	case 2:
		e = tr.Mkdir(p)
	case 3:
		e = tr.Rename(p, q)
	case 4:
		e = tr.Unlink(p)
	case 5:
		e = tr.Rmdir(p)
	case 6:
		e = tr.Symlink([]string{p, "../hidden", "../hidden/c", "f"}[r.IntN(4)], q)
	case 7:
		more, e = tr.Readlink(p)
	case 8:
		e = tr.Link(p, q, follow)
	}
	return fmt.Sprintf("%d %s %s %v: %v %v", what, p, q, follow, e, more)
}

// learns returns the observations of a guest and its caller in one call of a few attempts.
func (f *office) learns(home string, seed uint64) (all []string) {
	g := f.host.Plugin(f.plugin).NewGate(hostfuncs.Call{ID: "c", Principal: "stdio:1", Method: "tools/call"})
	defer g.Close()
	tr, r, w := g.Files(), rand.New(rand.NewPCG(seed, 1)), home+"/work"
	if seed%2 == 0 { // pending writes change the resolution of later paths
		_ = writeFile(tr, w+"/ok/in/n", "n")
	}
	paths := []string{
		w, w + "/hidden", w + "/hidden", w + "/hidden/", w + "/hidden/.", w + "/hidden/..", w + "/hidden/c", w + "/hidden/new", w + "/hidden/../ok/f", w + "/hidden/c/../../ok/f",
		w + "/ok", w + "/ok/f", w + "/ok/in", w + "/ok/in/n", w + "/ok/new", w + "/ok/new/x", w + "/ok/../hidden", w + "/ok/link", w + "/ok/link/c", w + "/ok/link2", w + "/ok/link/../f",
	}
	for range 6 {
		all = append(all, attempt(tr, r, paths))
	}
	all = append(all, fmt.Sprint(g.Conclude(nil)))
	for _, d := range g.Denials() {
		all = append(all, d.Effect+": "+d.Reason)
	}
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], home, "~")
	}
	return all
}

// TestFS_partlyGrantedFolderHidesRest checks that a guest in a partly granted folder cannot observe the rest: all
// results are as if nothing else existed.
func TestFS_partlyGrantedFolderHidesRest(t *testing.T) {
	t.Parallel()
	const calls = 80
	for name, tt := range map[string]struct{ wants, lines []string }{
		"some":   {nil, []string{"fs: read ~/work/*.txt", "fs: write ~/work/ok/**"}},
		"little": {[]string{"fs: write ~/work/**"}, []string{"fs: read ~/work/*.txt", "fs: write ~/work/ok/in/**"}},
		"none":   {[]string{"fs: read ~/**", "fs: write ~/**"}, nil},
	} {
		nothing := hideaway(t, func(string) error { return nil })
		first := newOffice(t, false, hostfuncs.Options{Home: nothing, State: t.TempDir()}, tt.wants, tt.lines...)
		var want [calls][]string
		for seed := range want {
			want[seed] = first.learns(nothing, uint64(seed))
		}
		for kind, hide := range hideaways {
			home := hideaway(t, hide)
			f := newOffice(t, false, hostfuncs.Options{Home: home, State: t.TempDir()}, tt.wants, tt.lines...)
			for seed := range want {
				if got := f.learns(home, uint64(seed)); !slices.Equal(got, want[seed]) {
					t.Errorf("%s is granted, call %d, at the path is %s:\n%s\nwith nothing there:\n%s", name, seed, kind, strings.Join(got, "\n"), strings.Join(want[seed], "\n"))
					break
				}
			}
		}
	}
}
