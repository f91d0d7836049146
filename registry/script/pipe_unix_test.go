//go:build unix

package script

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe in place of a script, or of a module that it imports, is not opened: that would block for ever.
func TestInputs_openNoPipe(t *testing.T) {
	for _, name := range []string{"main.py", "main.ts"} {
		path := write(t, "lib/a.py", "", "lib/a.ts", "")
		path = filepath.Join(filepath.Dir(filepath.Dir(path)), name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		written := make(chan error)
		go func() { // until the pipe is opened for reading
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("import lib.a\nimport './lib/a'\n")
				f.Close()
			}
			written <- err
		}()
		if got := Inputs(path); len(got) != 0 {
			t.Errorf("%s: got %q, want nothing", name, got)
		}
		if _, _, err := Read(path); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-written; err != nil {
			t.Log(err) // the pipe was read before
		}
		f.Close()
	}
}
