//go:build unix

package codecache

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Opening a fifo would wait for a writer.
func TestFolder_opensNoFIFO(t *testing.T) {
	f, path := putModule(t)
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Module("abc", "v1"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v, want not a regular file", err)
	}
}
