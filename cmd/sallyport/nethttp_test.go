//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const getTool = `tools:
  - name: get
    inputSchema: {type: object, properties: {url: {type: string}}, required: [url]}
    args: ["{url}"]
  - name: post
    inputSchema: {type: object, properties: {url: {type: string}, text: {type: string}}, required: [url, text]}
    args: ["{url}", post]
    stdin: "{text}"
`

// TestNetHTTP_blankImportSendsRequestsByTheGate builds a program by hand, with one import for its effect.
func TestNetHTTP_blankImportSendsRequestsByTheGate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "get.wasm"), "./examples/get")
	cmd.Dir, cmd.Env = filepath.Join("..", "..", "pdk", "go"), append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: got %v, want success: %s", err, text)
	}
	put(t, filepath.Join(dir, "get.tool.yaml"), []byte(getTool))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/page", http.StatusFound)
			return
		}
		w.Header().Set("X-Was", r.Method)
		fmt.Fprintf(w, "%s %d %s", r.URL.Path, len(body), strings.Repeat("x", 100_000))
	}))
	t.Cleanup(server.Close)
	s := connect(t, "plugins: {get: {grants: ['net: GET "+server.URL+"/page', 'net: GET "+server.URL+"/away', 'net: POST "+server.URL+"/in']}}", dir)
	for _, c := range []struct {
		tool, path, text, want string
	}{
		{"get", "/page", "", "200 OK GET\n/page 0 x"},
		{"get", "/away", "", "200 OK GET\n/page 0 x"},
		{"post", "/in", strings.Repeat("a", 70_000), "200 OK POST\n/in 70000 x"},
	} {
		args := map[string]any{"url": server.URL + c.path}
		if c.text != "" {
			args["text"] = c.text
		}
		if got := text(call(t, s, "get-"+c.tool, args)); !strings.HasPrefix(got, c.want) || strings.Count(got, "x") != 100_000 {
			t.Errorf("%s %s: got %.200q of %d bytes, want %q and 100000 times x", c.tool, c.path, got, len(got), c.want)
		}
	}
	r := call(t, s, "get-get", map[string]any{"url": server.URL + "/other"})
	if got := text(r); !r.IsError || !strings.Contains(got, "net: GET "+server.URL+"/other") {
		t.Errorf("without a grant: got %q, want an error with the line to grant", got)
	}
}
