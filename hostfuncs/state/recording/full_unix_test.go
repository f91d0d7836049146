//go:build unix

package recording

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("RECORDING_TEST_FULL"); dir != "" {
		if err := fillUp(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fillUp is a process whose files are limited to 100 bytes: a write ends within a call, and then fails.
func fillUp(dir string) error {
	signal.Ignore(unix.SIGXFSZ)
	keys := sealed.Random()
	f := NewFolder(Options{Dir: dir, Keys: func() (*sealed.Keys, error) { return keys, nil }})
	first := callAt(time.Now(), 1)
	if err := f.Put(first, week); err != nil {
		return err
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 100, Max: was.Max}); err != nil {
		return err
	}
	full := f.Put(callAt(time.Now(), 2), week)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	got, err := f.Calls("demo", week)
	fmt.Printf("full %t, calls %d, damaged %d", full != nil, len(got.All), got.Damaged)
	return err
}

// A full disk is an error, leaves no part of a call, and the calls before stay.
func TestFolder_fullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recorded")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "RECORDING_TEST_FULL="+dir)
	out, err := c.CombinedOutput()
	if err != nil || string(out) != "full true, calls 1, damaged 0" {
		t.Errorf("got %s, %v, want an error and the one call before", out, err)
	}
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("got %v, want one file", left)
	}
}
