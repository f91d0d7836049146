//go:build unix

package logging

import (
	"io"
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe in place of the log is an error, and Open does not block on it.
func TestOpen_refusesPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "sallyport.log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(pipe, io.Discard); err == nil || err.Error() != pipe+" is no regular file" {
		t.Errorf("got %v, want an error, %q", err, pipe+" is no regular file")
	}
}
