//go:build unix

package logging

import (
	"io"
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe in the place of the log is refused, and not waited at.
func TestOpen_RefusesPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "sallyport.log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(pipe, io.Discard); err == nil || err.Error() != pipe+" is no regular file" {
		t.Errorf("%v", err)
	}
}
