//go:build unix

package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/sigstore/sigstoretest"
)

// A plugin that a private instance signed is refused before its root is trusted, and installed afterwards. The root of
// an instance is written after a yes alone.
func TestTrust_updatesTheRootOfAPrivateInstance(t *testing.T) {
	s := newSigning(t)
	root := filepath.Join(s.home, "root.json")
	must(t, os.Remove(root))
	s.policy(requireWorkflow)
	wasm := speaker("Speaks.", "one")
	file := filepath.Join(t.TempDir(), "speaker.wasm")
	put(t, file, wasm)
	put(t, file+".sigstore.json", s.signed(wasm, nil))
	s.refused(file, "no trusted root is there yet", "sallyport trust update")
	if out, err := s.program("trust").CombinedOutput(); err == nil || !strings.Contains(string(out), "hint: sallyport trust update") {
		t.Errorf("trust: got %s, %v, want the command that fetches one", out, err)
	}

	mirror := sigstoretest.NewMirror(t, s.authority.Root(), time.Now().AddDate(1, 0, 0))
	web := httptest.NewServer(mirror)
	t.Cleanup(web.Close)
	metadata := filepath.Join(t.TempDir(), "metadata.json")
	put(t, metadata, mirror.Root)
	update := []string{"trust", "update", "--mirror", web.URL, "--root", metadata}
	if screen, out, code := typing(t, s.program(update...), "n"); code != exitTool || !strings.Contains(screen, "https://rekor.test") {
		t.Errorf("no: got code %d, %s and %s, want the log shown and nothing changed", code, out, screen)
	}
	s.refused(file, "no trusted root is there yet", "sallyport trust update")
	if _, out, code := typing(t, s.program(update...), "y"); code != 0 || !strings.Contains(out, "root.json is updated") {
		t.Errorf("yes: got code %d and %s, want it updated", code, out)
	}
	if out, err := s.program(update...).CombinedOutput(); err != nil || !strings.Contains(string(out), "is up to date") {
		t.Errorf("again: got %s, %v, want it up to date", out, err)
	}
	if out, err := s.program("trust").CombinedOutput(); err != nil || !strings.Contains(string(out), "certificates  https://fulcio.test") {
		t.Errorf("trust: got %s, %v, want the authority", out, err)
	}
	s.installs(file, byWorkflow)
	if out, err := s.program(update[:4]...).CombinedOutput(); err == nil || !strings.Contains(string(out), "belong together") {
		t.Errorf("without a root: got %s, %v, want it refused", out, err)
	}
	delete(mirror.Files, "timestamp.json")
	if out, err := s.program(update...).CombinedOutput(); err == nil || !strings.Contains(string(out), "the mirror has no trusted root that its metadata vouch for") {
		t.Errorf("a bad mirror: got %s, %v, want it refused", out, err)
	}
}
