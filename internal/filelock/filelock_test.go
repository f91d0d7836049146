package filelock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// TestMain runs the other process of TestTry_isFreeAfterCloseAndKill, which holds the lock until it is killed.
func TestMain(m *testing.M) {
	path := os.Getenv("LOCK_TEST_FILE")
	if path == "" {
		os.Exit(m.Run())
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		os.Exit(1)
	}
	if free, err := filelock.Try(f); !free || err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("held")
	var p [1]byte
	_, _ = os.Stdin.Read(p[:]) // until the process is killed
	os.Exit(0)
}

func try(t *testing.T, path string) (bool, *os.File) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	free, err := filelock.Try(f)
	if err != nil {
		t.Fatal(err)
	}
	return free, f
}

// A lock is released when its file is closed and when its process is killed.
func TestTry_isFreeAfterCloseAndKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	free, first := try(t, path)
	again, second := try(t, path)
	if !free || again {
		t.Errorf("got first %v, again %v; want true, false", free, again)
	}
	first.Close()
	second.Close()

	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "LOCK_TEST_FILE="+path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var held [4]byte
	if _, err := out.Read(held[:]); err != nil {
		t.Fatal(err)
	}
	if free, f := try(t, path); free {
		t.Error("lock of another process: got free true, want false")
	} else {
		f.Close()
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the error of a killed process
	free, f := try(t, path)
	defer f.Close()
	if !free {
		t.Error("lock of a killed process: got free false, want true")
	}
}
