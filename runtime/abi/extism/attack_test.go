package extism

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// loot is the secret that no plugin of these tests may obtain.
const loot = "the keys to the vault"

// granted calls a guest in this host under grants, through the real gate.
func granted(t *testing.T, wasm []byte, config map[string]string, lines []string, steps []step) outcome {
	t.Helper()
	var all []grant.Grant
	for _, line := range lines {
		g, err := grant.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	host := hostfuncs.NewHost(&hostfuncs.Options{})
	t.Cleanup(host.Close)
	policy := host.Plugin(hostfuncs.Plugin{Name: "attacker", Grants: grant.NewSet(all...), Config: config})
	gate := policy.NewGate(hostfuncs.Call{ID: "1", Method: "tools/call"})
	defer gate.Close()
	s := &script{steps: steps}
	p, err := pool(t, wasm, s, runtime.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Call(context.Background(), runtime.Request{}, gate); err != nil {
		t.Fatal(err)
	}
	return s.got[0]
}

// TestAttack_redirectToALocalServiceIsRefused redirects from an allowed host to a local service that is not allowed.
// The guest outputs the header fields of the response. Extism's own host follows the redirect; this host checks the
// grants at each hop.
func TestAttack_redirectToALocalServiceIsRefused(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Vault", loot) }))
	defer inside.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fine" {
			w.Header().Set("X-Page", "a page")
			return
		}
		http.Redirect(w, r, inside.URL+"/vault", http.StatusFound)
	}))
	defer page.Close()
	at, err := url.Parse(page.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(at.Host)
	if err != nil {
		t.Fatal(err)
	}
	allowed := "http://localhost:" + port // not 127.0.0.1, the target of the redirect
	get := func(path string) []step { return steps("http_get", `{"url":"`+allowed+path+`","method":"GET"}`) }
	wasm, lines := sdkFile(t, "wasm/http_headers.wasm"), []string{"net: GET " + allowed + "/**"}

	quiet(t)
	g := guest{cache: newCache(t), hosts: []string{"localhost"}, steps: get("/out")}
	if theirs, _ := sdkRun(t, g, wasm, ""); !strings.Contains(theirs[0].output, loot) {
		t.Errorf("attack on Extism's own host: got %+v, want it to work", theirs[0])
	}
	if ours := granted(t, wasm, nil, lines, get("/fine")); !strings.Contains(ours.output, "a page") {
		t.Errorf("allowed address: got %+v, want \"a page\"", ours)
	}
	if ours := granted(t, wasm, nil, lines, get("/out")); !ours.failed || strings.Contains(ours.output, loot) || !strings.Contains(ours.text, "127.0.0.1") {
		t.Errorf("attack: got %+v, want a failure that names 127.0.0.1", ours)
	}
}

// TestAttack_linkOutOfAFolderIsRefused uses a link in an allowed folder that leads out of it. Extism's own host
// follows it; this host checks each component.
func TestAttack_linkOutOfAFolderIsRefused(t *testing.T) {
	dir, vault := t.TempDir(), filepath.Join(t.TempDir(), "vault.txt")
	for file, text := range map[string]string{vault: loot, filepath.Join(dir, "fine.txt"): "a file"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"file": vault, "folder": filepath.Dir(vault)} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	quiet(t)
	cache, wasm, lines := newCache(t), sdkFile(t, "wasm/read_write.wasm"), []string{"fs: read " + dir + "/**"}
	read := func(name string) map[string]string { return map[string]string{"path": filepath.Join(dir, name)} }
	if ours := granted(t, wasm, read("fine.txt"), lines, steps("try_read", "")); ours.output != "a file" {
		t.Errorf("allowed file: got %+v, want \"a file\"", ours)
	}
	for _, name := range []string{"file", "folder/vault.txt"} {
		g := guest{cache: cache, files: true, config: map[string]string{"path": "/mnt/" + name}, steps: steps("try_read", "")}
		if theirs, _ := sdkRun(t, g, wasm, dir); theirs[0].output != loot {
			t.Errorf("%s: attack on Extism's own host: got %+v, want it to work", name, theirs[0])
		}
		if ours := granted(t, wasm, read(name), lines, steps("try_read", "")); !ours.failed || strings.Contains(ours.output, loot) {
			t.Errorf("%s: got %+v, want a failure without the file", name, ours)
		}
	}
}

func newCache(t *testing.T) wazero.CompilationCache {
	cache := wazero.NewCompilationCache()
	t.Cleanup(func() { _ = cache.Close(context.Background()) })
	return cache
}
