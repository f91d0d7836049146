//go:build unix

package jail_test

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

func TestSpecialFiles_neverOpen(t *testing.T) {
	w := newWorld(t, []string{"a", "work/null -> /dev/null"}, []string{"write %s", "write /dev"}, jail.Mount{Host: "%s/work"},
		jail.Mount{Host: "/dev/zero"}, jail.Mount{Host: "%s/work/pipe", Guest: "/pipe"}, jail.Mount{Host: "/dev/null"})
	fifo := filepath.Join(w.dir, "work/pipe")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		root := w.guest
		for _, path := range []string{root + "/work/pipe", "/pipe", "/dev/zero", "/dev/null", root + "/work/null"} {
			for _, o := range []wasi.OpenOptions{{Read: true}, {Write: true}, {Read: true, Write: true, Create: true, Truncate: true}} {
				if _, e := w.Open(path, o); e != wasi.EACCES {
					t.Errorf("open %s %+v: got %v, want %v", path, o, e, wasi.EACCES)
				}
			}
			if _, e := w.Open(path, wasi.OpenOptions{Directory: true}); e != wasi.ENOTDIR {
				t.Errorf("open %s as a folder: got %v, want %v", path, e, wasi.ENOTDIR)
			}
			if _, e := w.Stat(path, true); e != 0 {
				t.Errorf("stat %s: got %v, want success", path, e)
			}
			if _, e := w.Stat(path+"/x", true); e != wasi.ENOTDIR {
				t.Errorf("stat %s/x: got %v, want %v", path, e, wasi.ENOTDIR)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("open of a fifo: got no answer in a minute, want one at once")
	}
	w.want(w.Link(w.guest+"/work/pipe", w.guest+"/work/second", true), wasi.EPERM, "second name for a fifo")
	w.wantList(w.guest+"/work", "null", "pipe")
	w.want(w.Unlink(w.guest+"/work/null"), 0, "unlink")
}

func TestSpecialFiles_socketIsShownNotOpened(t *testing.T) {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	w := newWorld(t, nil, []string{"write " + dir}, jail.Mount{Host: dir, Guest: "/s"})
	if _, e := w.Open("/s/s", wasi.OpenOptions{Read: true}); e != wasi.EACCES {
		t.Errorf("open of a socket: got %v, want %v", e, wasi.EACCES)
	}
	if st, e := w.Stat("/s/s", true); e != 0 || st.Type != wasi.TypeSocket {
		t.Errorf("stat of a socket: got %+v, %v, want type %v", st, e, wasi.TypeSocket)
	}
}

// A fifo that replaces a folder or a file between Lstat and open does not block.
func TestSpecialFiles_swappedFifoDoesNotBlock(t *testing.T) {
	w := newWorld(t, []string{"d/a", "f"}, []string{"write %s"})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{"d", "f"} {
				path := filepath.Join(w.dir, name)
				_ = os.Rename(path, path+"-aside")
				_ = syscall.Mkfifo(path, 0o600)
				_ = os.Remove(path)
				_ = os.Rename(path+"-aside", path)
			}
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
			_, _ = w.read("d/a")
			_, _ = w.read("f")
			_ = w.write("f", "x")
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Errorf("open of a fifo: got no answer in a minute, want one at once")
	}
	close(stop)
	wg.Wait()
}
