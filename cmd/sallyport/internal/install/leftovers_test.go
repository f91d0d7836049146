package install

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What is removed as a leftover is what an installation makes: no folder of the plugin folder, and no link.
func TestLeftovers_areThoseOfAnInstallation(t *testing.T) {
	site := newSite(t, "")
	s := site.settings()
	dir, state := site.dir(), s.Text("state")
	for _, folder := range []string{filepath.Join(dir, tempPrefix+"notes"), filepath.Join(state, stagePrefix+"1")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, tempPrefix+"2")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, filepath.Join(dir, tempPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	got := Leftovers(s, time.Now().Add(2*time.Hour))
	want := []string{file, filepath.Join(state, stagePrefix+"1")}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
