package main

import (
	"go/build"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A file that is compiled on a system of a release is compiled by make check, on linux/amd64, or by make cross.
func TestMakefile_crossCompilesEachFile(t *testing.T) {
	list := regexp.MustCompile(`for target in ([a-z0-9/ ]+);`).FindStringSubmatch(rootFile(t, "Makefile"))
	if list == nil {
		t.Fatal("make cross has no list of targets")
	}
	compiles := func(target, path string) bool {
		c := build.Default
		c.GOOS, c.GOARCH, _ = strings.Cut(target, "/")
		ok, err := c.MatchFile(filepath.Dir(path), filepath.Base(path))
		if err != nil {
			t.Error(err)
		}
		return ok
	}
	released := []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
	compiled := append(strings.Fields(list[1]), "linux/amd64")
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"../../build", "../../pdk/go", "../../plugins", "../../cmd/sallyport-sigstore", "../../deploy"}, filepath.ToSlash(path)), d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir // another module, or no part of one
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		files++
		on := func(target string) bool { return compiles(target, path) }
		if slices.ContainsFunc(released, on) && !slices.ContainsFunc(compiled, on) {
			t.Errorf("%s is compiled for no system of make check and make cross", path)
		}
		return nil
	})
	if err != nil || files < 1000 {
		t.Errorf("got %d files, %v, want over 1000", files, err)
	}
}
