package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)

func files() []member {
	return []member{{"sallyport", 0o755, []byte("program")}, {"completions/sallyport.bash", 0o644, []byte("text")}}
}

func TestArchives_areEqualForEqualFiles(t *testing.T) {
	for name, pack := range map[string]func([]member, time.Time) ([]byte, error){"tar": tarball, "zip": zipped} {
		a, errA := pack(files(), at)
		b, errB := pack(files(), at)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: got %d and %d bytes, %v, %v, want equal ones", name, len(a), len(b), errA, errB)
		}
		if c, err := pack(files(), at.Add(time.Hour)); err != nil || bytes.Equal(a, c) {
			t.Errorf("%s of another time: got equal bytes, %v", name, err)
		}
	}
}

func TestArchives_holdTheirFilesWithModeAndTime(t *testing.T) {
	raw, err := tarball(files(), at)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for _, want := range files() {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil || h.Name != want.name || h.FileInfo().Mode() != want.mode || !h.ModTime.Equal(at) || !bytes.Equal(content, want.content) {
			t.Errorf("tar: got %+v, %q, %v, want %s", h, content, err, want.name)
		}
	}
	if raw, err = zipped(files(), at); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil || len(archive.File) != 2 || archive.File[0].Mode() != 0o755 || !archive.File[0].Modified.Equal(at) {
		t.Errorf("zip: got %+v, %v, want both files", archive, err)
	}
}

func TestBill_listsEveryModule(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "example.com/main", Version: "v1.0.0"}, Deps: []*debug.Module{
		{Path: "example.com/a", Version: "v1.2.3"}, {Path: "example.com/b", Version: "v1", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"}},
	}}
	raw, err := billFrom(info, at)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		BomFormat, SpecVersion, SerialNumber string
		Metadata                             struct{ Component struct{ Name string } }
		Components                           []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range got.Components {
		names = append(names, c.PURL)
	}
	want := "pkg:golang/stdlib@go1.26.8 pkg:golang/example.com/a@v1.2.3 pkg:golang/example.com/c@v2.0.0"
	if strings.Join(names, " ") != want || got.BomFormat != "CycloneDX" || got.Metadata.Component.Name != "example.com/main" || len(got.SerialNumber) != len("urn:uuid:")+36 {
		t.Errorf("got %s, want %s", raw, want)
	}
	if again, err := billFrom(info, at); err != nil || !bytes.Equal(again, raw) {
		t.Errorf("again: got %s, %v, want equal bytes", again, err)
	}
}

func TestChoose_namesTargets(t *testing.T) {
	if all, err := choose(""); err != nil || len(all) != 6 {
		t.Errorf("got %v, %v, want six targets", all, err)
	}
	if some, err := choose("windows_arm64,linux_amd64"); err != nil || len(some) != 2 || some[0].archive() != "sallyport_windows_arm64.zip" || some[1].archive() != "sallyport_linux_amd64.tar.gz" {
		t.Errorf("got %v, %v, want two targets", some, err)
	}
	if _, err := choose("plan9_386"); err == nil {
		t.Error("got no error for an unknown target")
	}
}

func TestWriteSums_asSha256sumReadsIt(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if err := writeSums(dir, []string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS")); err != nil || string(got) != empty+"  a\n"+empty+"  b\n" {
		t.Errorf("got %s, %v, want a line each, sorted", got, err)
	}
}
