//go:build unix

package fileid

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// Read rejects a named pipe in place of a plugin without blocking.
func TestRead_refusesPipesWithoutBlocking(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "plugin.wasm")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(pipe); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v, want %v", err, ErrNotRegular)
	}
}
