package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// webSite is a web server that records the paths requested.
func webSite(t *testing.T) (s *httptest.Server, hits *[]string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "page %s", r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s, &seen
}

func TestServe_followsItsConfiguration(t *testing.T) {
	web, _ := webSite(t)
	cmd := program(t, "plugins: {fetch: {grants: []}}\n", "serve", folder(t, bundled(t, "fetch")))
	file := ""
	for i, a := range cmd.Args {
		if a == "--config" {
			file = cmd.Args[i+1]
		}
	}
	stderr := &lockedBuffer{}
	cmd.Stderr = stderr
	s := session(t, commandTransport(cmd), nil)
	get := func() *mcp.CallToolResult { return call(t, s, "fetch-fetch", map[string]any{"url": web.URL + "/a"}) }
	rewrite := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !get().IsError {
		t.Fatal("without a grant it went out")
	}
	rewrite("plugins:\n  fetch:\n    grants:\n      - net: GET " + web.URL + "/{args.url\n")
	eventually(t, "the error is told with its line", func() bool {
		return strings.Contains(stderr.String(), filepath.Base(file)+":4: a { is not closed")
	})
	if !get().IsError {
		t.Error("a wrong file changed what is allowed")
	}
	rewrite("plugins:\n  fetch:\n    grants:\n      - net: GET {args.nobody:url}\n")
	eventually(t, "the line that does not fit is told", func() bool {
		return strings.Contains(stderr.String(), filepath.Base(file)+":4: no tool of the plugin has the arguments of this line")
	})
	rewrite("plugins:\n  fetch:\n    grants:\n      - net: GET {args.url:url}\n        within: [" + web.URL + "/**]\n")
	eventually(t, "the new line is in force", func() bool { return !get().IsError })
	rewrite("plugins: {fetch: {grants: []}}\n")
	eventually(t, "the line is gone", func() bool { return get().IsError })
}

// lockedBuffer is a buffer that can be read while a program writes to it.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
