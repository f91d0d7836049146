package denylist

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func makeFiles(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(p), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A file at any depth of a protected folder is protected under all its names. Other hard-linked files are not, unless
// there are too many to examine.
func TestGuard_coversHardLinks(t *testing.T) {
	dir := t.TempDir()
	own, bak, one := filepath.Join(dir, "state", "deep", "key"), filepath.Join(dir, "client.json.bak-1"), filepath.Join(dir, "secret")
	free := filepath.Join(dir, "work", "free")
	makeFiles(t, own, bak, one, free)
	for from, to := range map[string]string{own: "work/key", bak: "work/bak", one: "work/one", free: "work/also"} {
		if err := os.Link(from, filepath.Join(dir, filepath.FromSlash(to))); err != nil {
			t.Skip("no second names here:", err)
		}
	}
	paths := New([]string{filepath.Join(dir, "state"), filepath.Join(dir, "client.json.bak-*"), one})
	for name, want := range map[string]bool{"key": true, "bak": true, "one": true, "free": false, "also": false, "none": false} {
		if got := paths.Guard().Covers(filepath.Join(dir, "work", name)); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	g := paths.Guard()
	if g.look(2); !g.Covers(free) || g.Covers(filepath.Join(dir, "work", "none")) {
		t.Errorf("with too many names to tell: got free %t, none %t, want true, false", g.Covers(free), g.Covers(filepath.Join(dir, "work", "none")))
	}
}

// Each link on the way from a protected path to its target is protected, and so are the folders that lead there.
func TestNew_coversLinksOnTheWay(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	makeFiles(t, filepath.Join(dir, "opt", "v2", "host"), filepath.Join(dir, "bin", "x"), filepath.Join(dir, "alt", "x"))
	for name, target := range map[string]string{"bin/host": "../alt/host", "alt/host": filepath.Join(dir, "opt", "now", "host"), "opt/now": "v2", "loop": "loop"} {
		if err := os.Symlink(filepath.FromSlash(target), filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip("no links here:", err)
		}
	}
	g := New([]string{filepath.Join(dir, "bin", "host"), filepath.Join(dir, "loop")}).Guard()
	for name, want := range map[string][2]bool{
		"bin/host": {true, true}, "alt/host": {true, true}, "opt/v2/host": {true, true}, "opt/now": {false, true}, "opt/v2": {false, true},
		"alt": {false, true}, "bin": {false, true}, "opt/v2/other": {false, false}, "bin/x": {false, false}, "loop": {true, true},
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if got := [2]bool{g.Covers(path), g.Leads(path)}; got != want {
			t.Errorf("%s: covered, leads: %s, want %s", name, fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}
