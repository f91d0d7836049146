package source

import (
	"archive/tar"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

func TestParse_namesTheSource(t *testing.T) {
	abs, err := filepath.Abs("x.wasm")
	if err != nil {
		t.Fatal(err)
	}
	sum := "sha256:" + strings.Repeat("0f", 32)
	for text, want := range map[string]string{
		"x.wasm":                           abs,
		"file:///p/x.wasm":                 filepath.FromSlash("/p/x.wasm"),
		"https://a.example/p/x.wasm?q=1#f": "https://a.example/p/x.wasm?q=1",
		"http://127.0.0.1:8/x.wasm":        "http://127.0.0.1:8/x.wasm",
		"oci://ghcr.io/acme/w":             "oci://ghcr.io/acme/w:latest",
		"OCI://ghcr.io/acme/w:1.2":         "oci://ghcr.io/acme/w:1.2",
		"oci://localhost:5000/w@" + sum:    "oci://localhost:5000/w@" + sum,
		"oci://ghcr.io/acme/w:1@" + sum:    "oci://ghcr.io/acme/w:1@" + sum,
	} {
		r, err := Parse(text)
		if err != nil || r.String() != want {
			t.Errorf("%s: got %s, %v, want %s", text, r, err, want)
			continue
		}
		if again, err := Parse(r.String()); err != nil || again.String() != want {
			t.Errorf("%s again: got %s, %v, want %s", want, again, err, want)
		}
	}
}

func TestParse_refusesBadSources(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "the source is empty",
		"ftp://a.example/x.wasm":                "is no scheme of a source",
		"file://server/x.wasm":                  "names no file of this machine",
		"file:////server/share/x.wasm":          "names no file of this machine",
		"http://a.example/x.wasm":               "is not encrypted: use https://",
		"https://":                              "is no address",
		"https://u:p@a.example/x.wasm":          "has a password in it",
		"https://exаmple.com/x.wasm":            "U+0430", // Cyrillic
		"oci://ghcr.io/асme/w":                  "U+0430",
		"oci://ghcr.io/acme/w\u202e:1":          "U+202E",
		"oci://ghcr.io":                         "is no image of a registry",
		"oci://ghcr.io/ACME/w":                  "is no image of a registry",
		"oci://ghcr.io/acme/../w":               "is no image of a registry",
		"oci://ghcr.io/acme/w@sha256:12":        "is no digest",
		"oci://ghcr.io/acme/w:" + "x y":         "U+0020",
		"https://a/" + strings.Repeat("x", 3e3): "over 2048 bytes",
	} {
		if r, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %s, %v, want %q", text, r, err, want)
		}
	}
}

// A file comes with its tool file, and a folder stands for its only plugin.
func TestFetch_readsFilesAndFolders(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fetch(t, dir); err == nil || !strings.Contains(err.Error(), "has no plugin file") {
		t.Errorf("an empty folder: got %v, want it refused", err)
	}
	put("w.wasm", string(wasm))
	put("w.tool.yaml", "tools: []")
	put("readme.txt", "x")
	put("hello.ts", "x")
	for _, from := range []string{dir, filepath.Join(dir, "w.wasm"), filepath.Join(dir, "w.tool.yaml")} {
		a, err := fetch(t, from)
		if err != nil || !bytes.Equal(a.Content, wasm) || string(a.Tool) != "tools: []" || a.Stem != "w" || a.Origin.Digest != fileid.Digest(wasm) {
			t.Errorf("%s: got %+v, %v, want the module with its tool file", from, a, err)
		}
	}
	for _, name := range []string{"w.wasm", "w.prompt.md"} {
		linked := t.TempDir()
		if err := os.Symlink(filepath.Join(dir, "readme.txt"), filepath.Join(linked, name)); err != nil {
			t.Fatal(err)
		}
		if a, err := fetch(t, linked); err == nil || !strings.Contains(err.Error(), name+" is a link to "+filepath.Join(dir, "readme.txt")) {
			t.Errorf("a folder with a link %s: got %+v, %v, want it refused", name, a, err)
		}
	}
	put("again.wasm", string(wasm))
	if _, err := fetch(t, dir); err == nil || !strings.Contains(err.Error(), "has 2 plugins") {
		t.Errorf("two plugins: got %v, want them refused", err)
	}
	for name, want := range map[string]string{"readme.txt": "it is no plugin file", "none.wasm": "no such file", "hello.ts": "it is a script: sallyport build"} {
		if _, err := fetch(t, filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

func TestFetch_readsFilesOfTheWeb(t *testing.T) {
	pages := map[string][]byte{
		"/w.wasm":        wasm,
		"/latest":        wasm,
		"/p.prompt.md":   []byte("---\n---\nx"),
		"/w-1.0.tar.gz":  archive(t, [2]string{"w/tool.wasm", string(wasm)}, [2]string{"w/tool.tool.yaml", "tools: []"}, [2]string{"w/LICENSE", "x"}),
		"/two.tgz":       archive(t, [2]string{"a.wasm", "x"}, [2]string{"b.wasm", "x"}),
		"/none.tar":      archive(t, [2]string{"a", "x"}),
		"/outside.tgz":   archive(t, [2]string{"a/../../x.wasm", "x"}),
		"/page.html":     []byte("<html>"),
		"/PLUGIN.WASM":   wasm,
		"/huge.wasm":     nil,
		"/unending.wasm": nil,
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := pages[r.URL.Path]
		switch {
		case r.URL.Path == "/huge.wasm":
			w.Header().Set("Content-Length", "10000000000")
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Write(content)
		}
	}))
	t.Cleanup(web.Close)
	for path, want := range map[string]string{
		"/w.wasm": "w.wasm", "/latest": "latest.wasm", "/p.prompt.md": "p.prompt.md", "/w-1.0.tar.gz": "tool.wasm", "/PLUGIN.WASM": "PLUGIN.wasm",
		"/two.tgz":     "the archive has more than one plugin: a.wasm and b.wasm",
		"/none.tar":    "the archive has no .wasm file",
		"/outside.tgz": "leads outside",
		"/page.html":   "it is no plugin file",
		"/gone.wasm":   "has no such plugin",
		"/huge.wasm":   "it has 10000000000 bytes, and a plugin at most 128 MiB",
	} {
		a, err := fetch(t, web.URL+path)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && a.Stem+a.Ext != want {
			t.Errorf("%s: got %+v, %v, want %s", path, a, err, want)
		}
	}
	if a, err := fetch(t, web.URL+"/w-1.0.tar.gz"); err != nil || string(a.Tool) != "tools: []" {
		t.Errorf("a tool file of an archive: got %+v, %v, want it", a, err)
	}
}

// zeros is an endless file of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestUnpacked_boundsTheWholeArchive(t *testing.T) {
	header := func(name string, size int64) io.Reader {
		var out bytes.Buffer
		if err := tar.NewWriter(&out).WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		return io.MultiReader(&out, zeros{})
	}
	for _, c := range []struct {
		name string
		size int64
		want string
	}{
		{"other", 10 << 30, "unpacks to more than 512 MiB"},
		{pluginMember, 10 << 30, "it has 10737418240 bytes"},
	} {
		left := int64(maxUnpacked)
		_, err := unpacked(header(c.name, c.size), &left, func(name string) bool { return name == pluginMember })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestArtifact_namesInASCII(t *testing.T) {
	for stem, want := range map[string]string{"weather": "weather", "my-tool.v2": "my_tool_v2", "wеather": "U+0435", "気象": "U+6C17", "...": "no letter"} {
		name, err := (&Artifact{Stem: stem}).Name()
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && name != want {
			t.Errorf("%s: got %q, %v, want %s", stem, name, err, want)
		}
	}
}

func TestAlike_findsNamesThatLookTheSame(t *testing.T) {
	known := []string{"github", "mail", "files_2", "clock", "web"}
	for name, want := range map[string]string{
		"githud": "", "github": "", "g1thub": "github", "gIthub": "github", "rnail": "mail", "mai1": "mail", "files2": "files_2", "fetch": "",
		"c1ock": "clock", "cIock": "clock", "dock": "clock", "c_lock": "clock", "r_nail": "mail", "vveb": "web", "v_ve8": "web",
	} {
		if got := Alike(name, known); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
