//go:build clients && unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// After add alone, without another command, the agent lists the server and connects to it.
func TestClients_listTheServerAfterAdd(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	hub.push("acme/speaker", "1", speaker("Speaks.", "one"))
	put(t, filepath.Join(a.home, ".claude.json"), []byte("{}"))
	if _, out, code := typing(t, a.program("add", hub.source("acme/speaker", "1"), a.dir), "y", "y"); code != 0 {
		t.Fatalf("add: got code %d, %s", code, out)
	}
	command := filepath.Join(filepath.Dir(npm(t, ".bin", "node")), "claude")
	s := server{Env: map[string]string{asProgram: "1"}}
	if out := serversOf(t, command, trusted(t, a.home, ""), a.home, s); !strings.Contains(out, "sallyport: ") || !strings.Contains(out, "✔ Connected") {
		t.Errorf("got %s, want the server connected", out)
	}
	if _, out, code := typing(t, a.program("remove", "speaker", a.dir), "y", "y"); code != 0 {
		t.Fatalf("remove: got code %d, %s", code, out)
	}
	if out := serversOf(t, command, filepath.Join(a.home, "work"), a.home, s); strings.Contains(out, "sallyport") {
		t.Errorf("after remove: got %s, want no server", out)
	}
}
