package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call in which the server breaks the protocol ends alone: calls at the same time and later ones are answered, and
// the memory of the host stays bounded.
func TestServer_endsNoOtherCallWhenItMisbehaves(t *testing.T) {
	t.Parallel()
	dir := badServer(t, "")
	wasm, err := os.ReadFile(filepath.Join(dir, "server.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "short.wasm"), wasm)
	const config = "plugins: {server: {limits: {deadline: 5m}}, short: {limits: {deadline: 2s}}}"
	s, serve := hostile(t, config, filepath.Join(dir, "server.wasm"), filepath.Join(dir, "short.wasm"))
	count := func() {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "server-count"})
		if err != nil || text(r) != "1" {
			t.Errorf("count: got %+v %v, want 1 in each call", r, err)
		}
	}
	count()
	before := peak(t, serve)
	for _, c := range []struct{ tool, kind, want string }{
		{"server-trap", "trap", "server-trap: the guest trapped: out of bounds memory access"},
		{"server-gigabyte", "limit", "server-gigabyte: a message of the server is over the limit of 8388608 bytes (limits.output)"},
		{"short-garbage", "deadline", "limits.deadline is 2s"},
		{"short-wrongids", "deadline", "limits.deadline is 2s"},
	} {
		var others sync.WaitGroup
		for range 3 {
			others.Go(count)
		}
		r := call(t, s, c.tool, nil)
		if kind := kindOf(r); kind != c.kind || !strings.Contains(text(r), c.want) {
			t.Errorf("%s: got %q %.300s, want %q %s", c.tool, kind, text(r), c.kind, c.want)
		}
		others.Wait()
		count()
	}
	if grown := peak(t, serve) - before; grown > 256 {
		t.Errorf("got %d MiB more memory, want at most 256: a quarter of the text", grown)
	}
}
