package overlay_test

import (
	"os"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// TestOverlay_times checks the times of objects: a created one has the current time, a moved one keeps its time, and a
// folder has the time of the last change of its entries.
func TestOverlay_times(t *testing.T) {
	w := newWorld(t, overlay.Options{}, "old/d/f=F", "old/l=->d")
	long := time.Unix(1_000_000_000, 0)
	for _, name := range []string{"/old/d", "/old"} {
		if err := os.Chtimes(w.dir+name, long, long); err != nil {
			t.Fatal(err)
		}
	}
	link, err := os.Lstat(w.dir + "/old/l")
	if err != nil {
		t.Fatal(err)
	}
	mtime := func(name string) int64 {
		t.Helper()
		st, e := w.Stat(name, false)
		w.want(e, 0, "stat "+name)
		return st.Mtime
	}
	begin := time.Now().UnixNano()
	w.want(w.Mkdir("/w/new"), 0, "mkdir")
	w.want(w.Symlink("old", "/w/s"), 0, "symlink")
	made := mtime("/w/new")
	for _, name := range []string{"/w/new", "/w/s"} {
		if got := mtime(name); got < begin || got > time.Now().UnixNano() {
			t.Errorf("%s: got modified at %d, want it between %d and now", name, got, begin)
		}
	}
	for made == time.Now().UnixNano() { // a clock of coarse grain
	}
	w.want(w.Mkdir("/w/new/below"), 0, "mkdir below")
	if after := mtime("/w/new"); after <= made {
		t.Errorf("a new entry: got the folder modified at %d, want later than %d", after, made)
	}
	w.want(w.Rename("/w/old", "/w/moved"), 0, "rename")
	for name, want := range map[string]int64{"/w/moved": long.UnixNano(), "/w/moved/d": long.UnixNano(), "/w/moved/l": link.ModTime().UnixNano()} {
		if got := mtime(name); got != want {
			t.Errorf("%s has %d, want %d", name, got, want)
		}
	}
	other := int64(77)
	w.want(w.Chtimes("/w/new", wasi.Times{Mtime: &other}, true), 0, "times")
	w.want(w.Rename("/w/new", "/w/newer"), 0, "rename")
	if got := mtime("/w/newer"); got != other {
		t.Errorf("a moved folder has %d, want %d", got, other)
	}
}
