package pdk

import (
	"archive/zip"
	"bytes"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write go.zip")

// New projects get the library as it is now.
func TestGo_isTheLibrary(t *testing.T) {
	want := goFolder(t)
	if *update {
		writeArchive(t, want)
		return
	}
	got := Go()
	for _, file := range slices.Sorted(maps.Keys(want)) {
		if got["sallyport/"+file] != want[file] {
			t.Errorf("go.zip: got a different %s than that of pdk/go, want the same: go test ./pdk -update writes it", file)
		}
		delete(got, "sallyport/"+file)
	}
	for file := range got {
		t.Errorf("go.zip: got %s, want no such file, as in pdk/go: go test ./pdk -update writes it", file)
	}
}

// goFolder returns the files that a project needs, without tests and examples.
func goFolder(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS("go"), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == "examples":
			return fs.SkipDir
		case d.IsDir(), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(filepath.Join("go", filepath.FromSlash(path)))
		files[path] = string(text)
		return err
	})
	if err != nil || files["go.mod"] == "" {
		t.Fatalf("got %d files, %v, want the library", len(files), err)
	}
	return files
}

func writeArchive(t *testing.T, files map[string]string) {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(file)
		if err == nil {
			_, err = f.Write([]byte(files[file]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("go.zip", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
