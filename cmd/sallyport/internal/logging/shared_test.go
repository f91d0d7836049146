package logging

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

const (
	childFile = "LOGGING_TEST_FILE" // set for a child process of TestFile_isSharedByTwoProcesses
	childName = "LOGGING_TEST_NAME"
	writers   = 4
	eachLines = 100
)

// sharedLine returns a unique line of 100 bytes.
func sharedLine(process string, writer, n int) string {
	return fmt.Sprintf("%-99s\n", fmt.Sprintf("%s %d %d", process, writer, n))
}

// sharedMax makes the lines of two processes fill the log exactly once.
const sharedMax = 2 * writers * eachLines * 100 * 3 / 4

func TestMain(m *testing.M) {
	path, name := os.Getenv(childFile), os.Getenv(childName)
	if path == "" {
		os.Exit(m.Run())
	}
	f, err := Open(path, io.Discard)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	f.max = sharedMax
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1)) // both begin at once
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range eachLines {
				_, _ = io.WriteString(f, sharedLine(name, w, n))
			}
		})
	}
	all.Wait()
	os.Exit(0)
}

// When two processes fill one log, one of them rotates it and both go on in the new file. Each line is in one of the
// two files, once and whole.
func TestFile_isSharedByTwoProcesses(t *testing.T) {
	for range 10 {
		path := filepath.Join(t.TempDir(), "sallyport.log")
		var begin, end []func() error
		for _, name := range []string{"a", "b"} {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), childFile+"="+path, childName+"="+name)
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
				t.Fatal(err)
			}
			begin, end = append(begin, in.Close), append(end, c.Wait)
		}
		for _, do := range append(begin, end...) {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		now, err := os.ReadFile(path)
		before, err2 := os.ReadFile(path + ".1")
		if err != nil || err2 != nil || len(now) == 0 {
			t.Fatalf("got %v, %v, %d bytes, want two logs with the present one not empty", err, err2, len(now))
		}
		seen := map[string]int{}
		for line := range strings.Lines(string(before) + string(now)) {
			seen[line]++
		}
		for _, process := range []string{"a", "b"} {
			for w := range writers {
				for n := range eachLines {
					if line := sharedLine(process, w, n); seen[line] != 1 {
						t.Errorf("line %q: got it %d times, want once", strings.TrimSpace(line), seen[line])
					}
				}
			}
		}
		if len(seen) != 2*writers*eachLines || t.Failed() {
			t.Fatalf("got %d lines, want %d", len(seen), 2*writers*eachLines)
		}
	}
}

// A file renamed or removed by another process gets no more lines.
func TestFile_leavesAMovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sallyport.log")
	var terminal bytes.Buffer
	f, err := Open(path, &terminal)
	if err != nil {
		t.Fatal(err)
	}
	for i, move := range []func() error{
		func() error { return os.Rename(path, path+".1") },
		func() error { return os.Remove(path) },
		func() error { return os.Rename(path, path+".1") },
	} {
		if _, err := fmt.Fprintln(f, "before", i); err != nil {
			t.Fatal(err)
		}
		if err := move(); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(f, "after", i); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != fmt.Sprintln("after", i) {
			t.Errorf("got %q, %v, want %q", got, err, fmt.Sprintln("after", i))
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A line is repeated if its file was rotated twice after it was opened.
func TestFile_repeatsALineAfterTwoRotations(t *testing.T) {
	f, err := Open(filepath.Join(t.TempDir(), "sallyport.log"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for _, want := range []bool{true, true, false} {
		if f.keeps(opened) != want {
			t.Errorf("kept: %v", !want)
		}
		if err := os.Rename(f.path, f.old()); err != nil {
			t.Fatal(err)
		}
		if next, err := f.open(); err != nil || next.Close() != nil {
			t.Fatal(err)
		}
	}
}

// holdLock locks a file until free is called.
func holdLock(t *testing.T, path string) (free func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if ours, err := filelock.Try(f); !ours || err != nil {
		t.Fatalf("lock: got %t, %v, want true", ours, err)
	}
	return func() { f.Close() }
}

// A full file grows while another process holds the rotation lock.
func TestFile_growsWhileAnotherRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sallyport.log")
	a, err := Open(path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	a.max = 10
	write := func() {
		if _, err := io.WriteString(a, "12345678\n"); err != nil {
			t.Fatal(err)
		}
	}
	write()
	free := holdLock(t, path+".busy")
	write()
	if _, err := os.Stat(path + ".1"); err == nil {
		t.Errorf("with a rotation under way: got a second one, want none")
	}
	free()
	write()
	for file, want := range map[string]string{path + ".1": "12345678\n12345678\n", path: "12345678\n"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %v", file, got, err, want)
		}
	}
}
