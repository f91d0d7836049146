package denylist

import (
	"os"
	"path/filepath"
	"testing"
)

// Covers finds a protected path by its name in any case and by a link, and the paths below it. Leads finds the folders
// above it. A sibling is not protected.
func TestGuard_coversPathsByNameAndLink(t *testing.T) {
	dir := t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	own, other := filepath.Join(dir, "state", "own"), filepath.Join(dir, "other")
	for _, folder := range []string{filepath.Join(own, "keys"), other} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	alias := filepath.Join(other, "alias")
	if err := os.Symlink(own, alias); err != nil {
		t.Skip("no links here:", err)
	}
	given := filepath.Join(dir, "given")
	if err := os.Symlink(filepath.Join(dir, "state"), given); err != nil {
		t.Fatal(err)
	}
	g := New([]string{filepath.Join(given, "own"), filepath.Join(other, "client.json.bak-*"), filepath.Join(dir, "later", "x")}).Guard()
	for _, c := range []struct {
		path          string
		covers, leads bool
	}{
		{own, true, true}, {filepath.Join(own, "keys", "k"), true, false}, {filepath.Join(dir, "STATE", "Own", "new"), true, false},
		{filepath.Join(alias, "keys"), true, false}, {filepath.Join(given, "own", "x"), true, false},
		{filepath.Join(dir, "state"), false, true}, {dir, false, true}, {filepath.Join(dir, "later"), false, true},
		{filepath.Join(dir, "later", "x"), true, true}, {filepath.Join(dir, "state", "own2"), false, false},
		{filepath.Join(other, "Client.json.bak-1"), true, false}, {filepath.Join(other, "client.json"), false, false},
		{filepath.Join(other, "client.json.bak-1", "x"), true, false}, {filepath.Join(other, "free"), false, false},
	} {
		if got := g.Covers(c.path); got != c.covers {
			t.Errorf("covers %s: got %v, want %v", c.path, got, c.covers)
		}
		if got := g.Leads(c.path); got != c.leads {
			t.Errorf("leads to one from %s: got %v, want %v", c.path, got, c.leads)
		}
	}
	if none := New(nil).Guard(); none.Covers(own) || none.Leads(dir) {
		t.Errorf("an empty list: got covers %t, leads %t, want false", none.Covers(own), none.Leads(dir))
	}
}
