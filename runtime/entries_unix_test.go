//go:build unix

package runtime_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// A load writes nothing, so it needs no room on the disk. That is full in a process of its own, whose files can have no
// bytes for a while.
func TestEngine_loadsCodeAgainOnAFullDisk(t *testing.T) {
	if os.Getenv("RUNTIME_TEST_FULL") == "" {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		c.Env = append(os.Environ(), "RUNTIME_TEST_FULL=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(unix.SIGXFSZ)
	dir := t.TempDir()
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir})
	p, other := runtime.NewPool(readable(t, e, 5), run{}, nil), runtime.NewPool(readable(t, e, 6), run{}, nil)
	code, err := filepath.Glob(filepath.Join(dir, "code", "*"))
	if err != nil || len(code) != 2 {
		t.Fatalf("got %v, %v; want two files", code, err)
	}
	e.LimitLoaded(tight)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := p.Call(t.Context(), runtime.Request{}, nil)
		if err != nil || string(got) != "5" {
			t.Errorf("on a full disk: got %s, %v; want 5", got, err)
		}
		e.LimitLoaded(tight)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, other) + answer(t, p); got != "65" {
		t.Errorf("after that: got %s, want 65", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "code", "*")); len(left) != 2 {
		t.Errorf("got the machine code %v, want %v", left, code)
	}
}
