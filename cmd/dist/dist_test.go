//go:build dist

package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// systems are the targets of the compared releases; the default is this system alone.
var systems = flag.String("systems", runtime.GOOS+"_"+runtime.GOARCH, "comma-separated `targets`; empty is all")

// A release is built twice, and each way of installing it is followed. The second build begins with an empty build cache,
// in which go install then finds the compiled dependencies of the program.
func TestDist(t *testing.T) {
	t.Chdir("../..")
	release, cache := t.TempDir(), t.TempDir()
	if err := run(t.Context(), release, *systems); err != nil {
		t.Fatal(err)
	}
	t.Run("isReproducible", func(t *testing.T) { isReproducible(t, release, cache) })
	t.Run("eachWayMakesAFirstCall", func(t *testing.T) { eachWay(t, releaseHere(t, release), cache) })
}

// isReproducible checks that a second build is equal bytes: in a worktree with a changed file, and with an empty build
// cache.
func isReproducible(t *testing.T, release, cache string) {
	again := t.TempDir()
	t.Chdir(worktree(t))
	if err := os.WriteFile("README.md", []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", cache)
	if err := run(t.Context(), again, *systems); err != nil {
		t.Fatal(err)
	}
	compareFolders(t, release, again)
}

// releaseHere returns the release of this system alone, which is what a person downloads.
func releaseHere(t *testing.T, release string) string {
	t.Helper()
	here := target{runtime.GOOS, runtime.GOARCH}.String()
	if *systems == here {
		return release
	}
	release = t.TempDir()
	if err := run(t.Context(), release, here); err != nil {
		t.Fatal(err)
	}
	return release
}

// worktree returns another checkout of the same commit.
func worktree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "worktree")
	if out, err := exec.Command("git", "worktree", "add", "--detach", dir, "HEAD").CombinedOutput(); err != nil {
		t.Fatalf("git worktree: %v: %s", err, out)
	}
	repository, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("git", "-C", repository, "worktree", "remove", "--force", dir).CombinedOutput(); err != nil {
			t.Errorf("git worktree remove: %v: %s", err, out)
		}
	})
	return dir
}

func compareFolders(t *testing.T, first, second string) {
	t.Helper()
	files, err := os.ReadDir(first)
	if err != nil || len(files) < 10 {
		t.Fatalf("got %d files, %v, want each format", len(files), err)
	}
	equal := 0
	for _, f := range files {
		a, errA := os.ReadFile(filepath.Join(first, f.Name()))
		b, errB := os.ReadFile(filepath.Join(second, f.Name()))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: got %d and %d bytes, %v, %v, want equal ones", f.Name(), len(a), len(b), errA, errB)
			continue
		}
		equal++
	}
	if more, err := os.ReadDir(second); err != nil || len(more) != len(files) {
		t.Errorf("got %d files, %v, want %d", len(more), err, len(files))
	}
	t.Logf("%d of %d files are equal: %s", equal, len(files), strings.Join(names(files), ", "))
}

func names(files []os.DirEntry) (all []string) {
	for _, f := range files {
		all = append(all, f.Name())
	}
	return all
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
