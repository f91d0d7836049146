package source

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
)

// fetchWith fetches a manifest with its module.
func fetchWith(t *testing.T, from string, refused func(Ref) bool) (*Artifact, error) {
	t.Helper()
	r, err := Parse(from)
	if err != nil {
		t.Fatal(err)
	}
	f := NewFetcher(Options{Wait: time.Millisecond})
	a, err := f.Fetch(t.Context(), r)
	if err != nil {
		return nil, err
	}
	return a, f.FetchModule(t.Context(), r, a, refused)
}

func anySource(Ref) bool { return false }

func TestFetchModule_takesOnlyTheModuleOfTheHash(t *testing.T) {
	wasm := []byte("\x00asm\x01\x00\x00\x00")
	sum := strings.TrimPrefix(fileid.Digest(wasm), "sha256:")
	fetched := 0
	var web *httptest.Server
	web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/m.wasm":
			fetched++
			w.Write(wasm)
		case "/hash.json":
			w.Write([]byte(`{"wasm":[{"url":"` + web.URL + `/m.wasm","hash":"` + sum + `"}],"config":{"k":"v"}}`))
		case "/wrong.json":
			w.Write([]byte(`{"wasm":[{"url":"` + web.URL + `/m.wasm","hash":"` + strings.Repeat("0", 64) + `"}]}`))
		case "/none.json":
			w.Write([]byte(`{"wasm":[{"url":"` + web.URL + `/m.wasm"}]}`))
		case "/gone.json":
			w.Write([]byte(`{"wasm":[{"url":"` + web.URL + `/gone.wasm","hash":"` + sum + `"}]}`))
		case "/path.json":
			w.Write([]byte(`{"wasm":[{"path":"m.wasm","hash":"` + sum + `"}]}`))
		case "/inside.json":
			w.Write([]byte(`{"wasm":[{"url":"http://127.0.0.1:1/m.wasm","hash":"` + sum + `"}]}`))
		case "/plain.json":
			w.Write([]byte(`{"wasm":[{"url":"http://a.example/m.wasm","hash":"` + sum + `"}]}`))
		case "/two.json":
			w.Write([]byte(`{"wasm":[{"url":"` + web.URL + `/m.wasm"},{"data":"AA=="}]}`))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	for path, want := range map[string]string{
		"wrong": "the module is " + fileid.Digest(wasm) + ", and the manifest wants sha256:0000", "none": "names its module without a hash", "gone": "gone.wasm",
		"path": "names its module by a path, which an address does not have", "inside": "127.0.0.1", "plain": "is not encrypted", "two": "links 2 modules",
	} {
		before := fetched
		if _, err := fetchWith(t, web.URL+"/"+path+".json", anySource); err == nil || !strings.Contains(err.Error(), want) || path == "none" && fetched != before {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	before := fetched
	if _, err := fetchWith(t, web.URL+"/hash.json", func(r Ref) bool { return strings.HasSuffix(r.Moving(), "m.wasm") }); !errors.Is(err, ErrRefused) || fetched != before {
		t.Errorf("refused: got %v, %d requests, want none", err, fetched-before)
	}
	a, err := fetchWith(t, web.URL+"/hash.json", anySource)
	if err != nil || a.Ext != ".json" || a.Stem != "hash" {
		t.Fatalf("got %+v, %v, want the manifest", a, err)
	}
	if m, err := extismfile.Parse(a.Content); err != nil || !m.Inline || m.Digest != fileid.Digest(wasm) || m.Config["k"] != "v" {
		t.Errorf("got %s, %v, want the module in the manifest", a.Content, err)
	}
}

func TestFetchModule_readsAFileInTheFolder(t *testing.T) {
	dir := t.TempDir()
	wasm := []byte("\x00asm\x01\x00\x00\x00")
	sum := strings.TrimPrefix(fileid.Digest(wasm), "sha256:")
	for name, content := range map[string]string{
		"m.wasm": string(wasm), "a.json": `{"wasm":[{"path":"m.wasm","hash":"` + sum + `"}]}`, "b.json": `{"wasm":[{"path":"m.wasm"}]}`,
		"c.json": `{"wasm":[{"path":"../m.wasm","hash":"` + sum + `"}]}`, "d.json": `{"wasm":[{"path":"gone.wasm","hash":"` + sum + `"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := fetchWith(t, filepath.Join(dir, "a.json"), anySource); err != nil || !strings.Contains(string(a.Content), `"data":"AGFzbQEAAAA="`) {
		t.Errorf("got %v, want the module in the manifest", err)
	}
	for name, want := range map[string]string{"b": "without a hash", "c": "outside of its folder", "d": "no such file"} {
		if _, err := fetchWith(t, filepath.Join(dir, name+".json"), anySource); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}
