package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)

func members() []member {
	return []member{{name: "sallyport", mode: 0o755, content: []byte("program")}, {name: "completions/sallyport.bash", mode: 0o644, content: []byte("text")}}
}

func TestArchives_areEqualForEqualFiles(t *testing.T) {
	for name, pack := range map[string]func([]member, time.Time) ([]byte, error){"tar": tarball, "zip": zipped} {
		a, errA := pack(members(), at)
		b, errB := pack(members(), at)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: got %d and %d bytes, %v, %v, want equal ones", name, len(a), len(b), errA, errB)
		}
		if c, err := pack(members(), at.Add(time.Hour)); err != nil || bytes.Equal(a, c) {
			t.Errorf("%s of another time: got equal bytes, %v", name, err)
		}
	}
}

func TestArchives_holdTheirFilesWithModeAndTime(t *testing.T) {
	raw, err := tarball(members(), at)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for _, want := range members() {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil || h.Name != want.name || h.FileInfo().Mode() != want.mode || !h.ModTime.Equal(at) || !bytes.Equal(content, want.content) {
			t.Errorf("tar: got %+v, %q, %v, want %s", h, content, err, want.name)
		}
	}
	if raw, err = zipped(members(), at); err != nil {
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
	other := &debug.BuildInfo{Main: debug.Module{Path: "example.com/second", Version: "v1"}, Deps: []*debug.Module{
		{Path: "example.com/a", Version: "v1.2.3"}, {Path: "example.com/a", Version: "v1.3.0"},
	}}
	raw, err := billFrom(at, info, other)
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
	want := "pkg:golang/stdlib@go1.26.8 pkg:golang/example.com/a@v1.2.3 pkg:golang/example.com/c@v2.0.0 pkg:golang/example.com/second@v1 pkg:golang/example.com/a@v1.3.0"
	if strings.Join(names, " ") != want || got.BomFormat != "CycloneDX" || got.Metadata.Component.Name != "example.com/main" || len(got.SerialNumber) != len("urn:uuid:")+36 {
		t.Errorf("got %s, want %s", raw, want)
	}
	if again, err := billFrom(at, info, other); err != nil || !bytes.Equal(again, raw) {
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

func TestSums_asSha256sumReadsIt(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	got := sums([]artefact{{"a", nil}, {"b", nil}})
	if got.name != "SHA256SUMS" || string(got.content) != empty+"  a\n"+empty+"  b\n" {
		t.Errorf("got %s: %s, want a line each", got.name, got.content)
	}
}

func TestVersion_isWrittenAsEachFormatOrdersIt(t *testing.T) {
	for text, want := range map[string][3]string{
		"sallyport version 0.1.0-dev+d2fc8503741f (go1.26.8, linux/amd64, wazero v1.12.0)\n": {"0.1.0-dev", "0.1.0.dev0", "0.1.0~dev"},
		"sallyport version 1.2.3 (go1.26.8)":                                                 {"1.2.3", "1.2.3", "1.2.3"},
	} {
		v, err := versionFrom(text)
		if got := [3]string{v.semantic(), v.python(), v.debian()}; err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := versionFrom("sallyport version unknown"); err == nil {
		t.Error("got no error for a text without a version")
	}
}

// small is a release whose programs are a few bytes.
func small() *release {
	r := &release{version: version{"0.1.0", "dev"}, at: at, bill: []byte("{}"), docs: []member{
		{name: "LICENSE", mode: 0o644, content: []byte("licence")}, {name: "README.md", mode: 0o644, content: []byte("readme")},
		{name: "completions/_sallyport", mode: 0o644}, {name: "man/sallyport.1", mode: 0o644, content: []byte(".TH")},
	}}
	for _, t := range targets() {
		r.programs = append(r.programs, built{t, []byte(t.String()), []byte("verifier " + t.String())})
	}
	return r
}

func TestPack_makesEveryFormatTwiceAlike(t *testing.T) {
	a, errA := small().pack()
	b, errB := small().pack()
	if errA != nil || errB != nil || len(a) != len(b) {
		t.Fatalf("got %d and %d files, %v, %v, want as many", len(a), len(b), errA, errB)
	}
	var names []string
	for i := range a {
		names = append(names, a[i].name)
		if a[i].name != b[i].name || !bytes.Equal(a[i].content, b[i].content) {
			t.Errorf("%s and %s: got other bytes, want equal ones", a[i].name, b[i].name)
		}
	}
	for suffix, want := range map[string]int{".zip": 2, ".tar.gz": 4, ".deb": 2, ".tgz": 7, ".whl": 6, ".mcpb": 6, ".tar": 1, ".rb": 1, ".json": 2, "SUMS": 1} {
		got := 0
		for _, name := range names {
			if strings.HasSuffix(name, suffix) {
				got++
			}
		}
		if got != want {
			t.Errorf("got %d files *%s in %v, want %d", got, suffix, names, want)
		}
	}
}

// The addresses and the checksums in the formula and in the registry's entry are those of files of the release.
func TestListings_nameFilesOfTheRelease(t *testing.T) {
	files, err := small().pack()
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, f := range files {
		contents[f.name] = string(f.content)
	}
	for _, listing := range []string{"sallyport.rb", "server.json"} {
		addresses := 0
		for _, line := range strings.Split(contents[listing], "\n") {
			_, rest, ok := strings.Cut(line, "/releases/download/v0.1.0-dev/")
			if !ok {
				continue
			}
			addresses++
			name, _, _ := strings.Cut(rest, `"`)
			sum := fmt.Sprintf("%x", sha256.Sum256([]byte(contents[name])))
			if contents[name] == "" || !strings.Contains(contents[listing], sum) {
				t.Errorf("%s: got %s, want a file of the release with its checksum %s", listing, name, sum)
			}
		}
		if addresses < 4 {
			t.Errorf("%s: got %d addresses, want some", listing, addresses)
		}
	}
}

// An architecture that Debian, npm or Python spells in its own way gets that spelling.
func TestTarget_namesOfEachPackageManager(t *testing.T) {
	for _, x := range []struct {
		target
		tag, wheel string
	}{
		{target{"linux", "amd64"}, "linux-x64", "manylinux_2_17_x86_64.musllinux_1_1_x86_64"}, {target{"darwin", "arm64"}, "darwin-arm64", "macosx_12_0_arm64"},
		{target{"windows", "amd64"}, "win32-x64", "win_amd64"},
	} {
		system, processor := x.npm()
		if got := system + "-" + processor; got != x.tag || x.platforms() != x.wheel {
			t.Errorf("%s: got %s, %s, want %s, %s", x.target, got, x.platforms(), x.tag, x.wheel)
		}
	}
}

// The page about installing names each file of a release, and no other.
func TestOperation_namesEachFileOfARelease(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operation.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Installing the program\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var patterns []string
	for _, name := range regexp.MustCompile("`([a-z]\\S+\\.(?:tar|gz|tgz|whl|deb|mcpb|rb|json))`").FindAllStringSubmatch(section, -1) {
		patterns = append(patterns, strings.NewReplacer("SYSTEM", "*", "PROCESSOR", "*", "VERSION", "*", "PLATFORM", "*").Replace(name[1]))
	}
	patterns = append(patterns, "*.zip", "SHA256SUMS")
	files, err := small().pack()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, f := range files {
		i := slices.IndexFunc(patterns, func(p string) bool { ok, err := filepath.Match(p, f.name); return ok && err == nil })
		if i < 0 {
			t.Errorf("%s: got no line of docs/operation.md in %q, want one", f.name, patterns)
			continue
		}
		used[patterns[i]] = true
	}
	for _, p := range patterns {
		if !used[p] && p != "npm-sallyport-*-*-*.tgz" { // the one without a system matches those too
			t.Errorf("docs/operation.md: got %s, want only files of a release", p)
		}
	}
}
