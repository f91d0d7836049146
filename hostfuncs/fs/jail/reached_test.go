package jail_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// A mount that is a link, or is replaced by one during the walk, leads to the target of the link, on which the
// decision is made.
func TestMount_swappedForALink(t *testing.T) {
	w := newWorld(t, []string{"secret/key", "plain/key", "w/x"}, []string{"write %s/w", "write %s/plain"})
	flip, spare := filepath.Join(w.dir, "w", "flip"), filepath.Join(w.dir, "spare")
	if err := os.Mkdir(spare, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(spare, "key"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, running := make(chan struct{}), sync.WaitGroup{}
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(spare, flip)
			_ = os.Rename(flip, spare)
			_ = os.Symlink(filepath.Join(w.dir, "secret"), flip)
			_ = os.Remove(flip)
		}
	})
	seen := map[string]int{}
	for i := 0; i < 3000 || len(seen) == 0 && i < 1_000_000; i++ {
		for _, m := range []jail.Mount{{Host: flip}, {Host: filepath.Join(flip, "key")}} {
			one := jail.New([]jail.Mount{m}, viewer{w.rules})
			f, e := one.Open(w.guest+"/w/flip/key", wasi.OpenOptions{Read: true, Write: true})
			if e == 0 {
				buf := make([]byte, 100)
				n, _ := f.ReadAt(buf, 0)
				seen[string(buf[:n])]++
				_ = f.Close()
			}
			if st, e := one.Stat(w.guest+"/w/flip/key", true); e == 0 && st.Size != int64(len("mine")) {
				t.Fatalf("stat: got size %d, want %d", st.Size, len("mine"))
			}
			one.Close()
		}
	}
	close(stop)
	running.Wait()
	for text := range seen {
		if text != "mine" {
			t.Errorf("got %q, want mine", text)
		}
	}
	if len(seen) == 0 {
		t.Errorf("got no read that succeeded, want at least one")
	}
}

// A path that two mounts share is decided on by its real place, through either mount, and a link in one leads into the
// other only where that is granted.
func TestMounts_throughLinks(t *testing.T) {
	w := newWorld(t, []string{"a/x", "b/y", "c/z", "a/tob -> ../b", "a/toc -> ../c", "a/chain -> tob/back", "b/back -> ../c", "alias -> c"},
		[]string{"write %s/a", "write %s/b", "deny %s/c"},
		jail.Mount{Host: "%s/a"}, jail.Mount{Host: "%s/b"}, jail.Mount{Host: "%s/alias"}, jail.Mount{Host: "%s/c/z", Guest: "/z"})
	w.wantRead("a/tob/y", "b/y", 0)
	w.wantRead("a/tob/../x", "", wasi.ENOENT) // of b
	for _, path := range []string{"a/toc/z", "a/chain/z", "alias/z", "a/tob/back/z", "a/toc", "alias", "a/tob/../c/z"} {
		w.wantRead(path, "", wasi.ENOENT)
		w.want(w.write(path, "x"), wasi.ENOENT, "write ", path)
		w.want(w.Rename(w.guest+"/a/x", w.guest+"/"+path+"/x"), wasi.ENOENT, "rename into ", path)
		if _, e := w.Stat(w.guest+"/"+path, true); e != wasi.ENOENT {
			t.Errorf("stat %s: got %v, want %v", path, e, wasi.ENOENT)
		}
	}
	if _, e := w.Stat("/z", true); e != wasi.ENOENT {
		t.Errorf("a mount of a denied file: got %v, want %v", e, wasi.ENOENT)
	}
	w.want(w.Rename(w.guest+"/a/x", w.guest+"/a/tob/x"), 0, "rename through a link to what is granted")
	w.wantRead("b/x", "a/x", 0)
}
