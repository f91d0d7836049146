//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// An Extism manifest of the web is installed with its module: fetched once, by add, if its bytes are those of the hash.
func TestAdd_installsAnExtismManifestWithItsModule(t *testing.T) {
	wasm, err := os.ReadFile(extismGuest(t, "vowels"))
	if err != nil {
		t.Fatal(err)
	}
	vowels := "lo"
	var web *httptest.Server
	web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/vowels.wasm") {
			w.Write(wasm)
			return
		}
		if !strings.HasSuffix(r.URL.Path, ".json") {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(`{"wasm":[{"url":"` + web.URL + `/vowels.wasm","hash":"` + strings.TrimPrefix(fileid.Digest(wasm), "sha256:") + `"}],"config":{"vowels":"` + vowels + `"}}`))
	}))
	t.Cleanup(web.Close)
	a, from := newAdded(t), web.URL+"/letters.json"
	screen, out, code := typing(t, a.program("add", from, a.dir), "y")
	if code != 0 || a.files() != "letters.json" || !strings.Contains(screen, fileid.Digest(wasm)) {
		t.Fatalf("got code %d, %s and files %q, want the manifest\n%s", code, out, a.files(), screen)
	}
	web.Close() // a start fetches nothing
	says := func(want string) {
		t.Helper()
		s := session(t, commandTransport(a.program("serve", a.dir)), nil)
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "letters-count", Arguments: map[string]any{"text": "hello"}})
		if err != nil || text(r) != want {
			t.Errorf("got %+v, %v, want %s", r, err, want)
		}
	}
	says("3 vowels")
	held := filepath.Join(a.dir, "far.json")
	put(t, held, []byte(`{"wasm":[{"url":"`+from+`","hash":"`+strings.Repeat("0", 64)+`"}]}`))
	listed, _ := a.program("list", a.dir, "--json").Output() // it fails for a plugin that is held
	if !strings.Contains(string(listed), "sallyport add --replace "+held) {
		t.Errorf("a manifest that names an address: got %s, want the command that fetches its module", listed)
	}
	if err := os.Remove(held); err != nil {
		t.Fatal(err)
	}
	if _, out, code := typing(t, a.program("remove", "letters", a.dir), "y"); code != 0 || a.files() != "" {
		t.Errorf("remove: got code %d, %q and files %q, want none", code, out, a.files())
	}
}
