//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// greeter is a server on loopback that answers each request with its number, and keeps the queries.
type greeter struct {
	*httptest.Server
	mu      sync.Mutex
	queries []string
}

func newGreeter(t *testing.T) *greeter {
	t.Helper()
	g := &greeter{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.queries = append(g.queries, r.URL.RawQuery)
		fmt.Fprintf(w, "greeting %d", len(g.queries))
	}))
	t.Cleanup(g.Close)
	return g
}

// take returns and forgets the queries.
func (g *greeter) take() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.queries
	g.queries = nil
	return all
}

// earlyServer returns a function that makes a folder with testdata/early as a plugin, for an effect at a moment.
var earlyServer = once(func(t *testing.T, _ string) string {
	file := filepath.Join(sharedState(t), "early.wasm")
	if text, err := program(t, "", "build", "--go", "./testdata/early", "-o", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return file
})

// tableFuel is the fuel that the packages of testdata/early take at least when they are initialized.
const tableFuel = 5_000_000

// All calls of a server with an effect at its start begin in one image that is from before the effect. The effect is that of
// each call, under its gate, and nothing else differs from calls that start the server.
func TestServer_callsBeginBeforeAnEffectOfItsStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "settings")
	put(t, file, []byte("the settings "))
	for _, c := range []struct {
		moment, kind string
		requests     int // of a call
	}{
		{"start", "get", 1},
		{"start", "twice", 2},
		{"start", "dated", 1},
		{"start", "random", 0},
		{"start", "file", 0},
		{"initialize", "get", 1},
		{"notifications/initialized", "get", 1},
		{"tools/list", "get", 0},
	} {
		t.Run(c.moment+" "+c.kind, func(t *testing.T) {
			t.Parallel()
			g := newGreeter(t)
			of := g.URL
			if c.kind == "file" {
				of = file
			}
			dir := folder(t, earlyServer(t, ""))
			put(t, filepath.Join(dir, "early.tool.yaml"), []byte(fmt.Sprintf("server: {args: [%q, %q, %q]}\n", c.moment, c.kind, of)))
			texts, fuels := map[string][]string{}, map[string]float64{}
			for _, version := range eras() {
				for _, state := range []string{"call", "fresh"} {
					s := speaking(t, version, commandTransport(program(t, "plugins: {early: {state: "+state+
						", grants: [elicitation, 'net: GET "+g.URL+"/**', 'fs: read "+filepath.Dir(file)+"/**']}}", "serve", dir)))
					if c.moment == "tools/list" {
						g.take() // of the list
					}
					key := version + state
					for _, tool := range []string{"early", "ask", "early"} {
						r := call(t, s, "early-"+tool, nil)
						texts[key] = append(texts[key], text(r))
						fuels[key] = fuelOf(r)
					}
					queries := g.take()
					if len(queries) != 3*c.requests {
						t.Errorf("%s %s: got the requests %q, want %d in each of 3 calls", version, state, queries, c.requests)
					}
					if slices.ContainsFunc(queries, func(q string) bool { return strings.HasPrefix(q, "at=2026-01-01") }) {
						t.Errorf("%s %s: got the dates %q, want those of the calls", version, state, queries)
					}
				}
				image, fresh := texts[version+"call"], texts[version+"fresh"]
				if c.kind == "random" {
					for _, got := range [][]string{image, fresh} {
						if got[0] == got[2] {
							t.Errorf("%s: got %q, want another random text in each call", version, got)
						}
					}
				} else if !slices.Equal(image, fresh) {
					t.Errorf("%s: got %q, want %q as from servers that each call starts", version, image, fresh)
				}
				if c.requests == 1 && image[0] != "greeting 1|1 9" {
					t.Errorf("%s: got %q, want the first greeting", version, image[0])
				}
				if saved := fuels[version+"fresh"] - fuels[version+"call"]; saved < tableFuel {
					t.Errorf("%s: got %.0f units of fuel fewer than with a start, want at least %d", version, saved, tableFuel)
				}
			}
		})
	}
}

// fuelOf returns the fuel of a call.
func fuelOf(r *mcp.CallToolResult) float64 {
	return r.Meta["dev.sallyport/receipt"].(map[string]any)["fuel"].(float64)
}

// A server that a session keeps has its effect once in the session, and none in the image.
func TestServer_ofASessionHasItsEffectOnce(t *testing.T) {
	t.Parallel()
	g := newGreeter(t)
	dir := folder(t, earlyServer(t, ""))
	put(t, filepath.Join(dir, "early.tool.yaml"), []byte(fmt.Sprintf("server: {args: [start, get, %q]}\n", g.URL)))
	config := "plugins: {early: {state: session, grants: ['net: GET " + g.URL + "/**']}}"
	for session := 1; session <= 2; session++ {
		s := connect(t, config, dir)
		for n := 1; n <= 2; n++ {
			if got, want := text(call(t, s, "early-early", nil)), fmt.Sprintf("greeting %d|%d 9", session, n); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

// Without a grant the effect of each call is refused, by the gate of that call.
func TestServer_effectOfItsStartIsRefusedInEachCall(t *testing.T) {
	t.Parallel()
	g := newGreeter(t)
	dir := folder(t, earlyServer(t, ""))
	put(t, filepath.Join(dir, "early.tool.yaml"), []byte(fmt.Sprintf("server: {args: [start, get, %q]}\n", g.URL)))
	s := connect(t, "", dir)
	for range 2 {
		if got := text(call(t, s, "early-early", nil)); !strings.Contains(got, "may not GET "+g.URL) {
			t.Errorf("got %q, want a refusal", got)
		}
	}
	if got := g.take(); got != nil {
		t.Errorf("got the requests %q, want none", got)
	}
}
