//go:build unix

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An address in use is an error before any plugin is loaded, with a hint.
func TestServe_failsEarlyWhereTheAddressIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir, state := folder(t, guest(t, "misbehave")), filepath.Join(t.TempDir(), "state")
	out := outputOfError(t, program(t, "", "serve", dir, "--http", taken.Addr().String(), "--state", state))
	if !strings.Contains(out, "address already in use") || !strings.Contains(out, "hint: another program serves there; choose another port with --http 127.0.0.1:PORT") {
		t.Errorf("got %s, want %q in it, %q in it", out, "address already in use", "hint: another program serves there; choose another port with --http 127.0.0.1:PORT")
	}
	if compiled, _ := os.ReadDir(filepath.Join(state, "compiled")); len(compiled) > 0 {
		t.Error("plugins were compiled first")
	}
}
