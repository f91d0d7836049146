package lock

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// asWriter is the variable that makes the test binary a process that pins plugins in the named file until it is killed.
const asWriter = "SALLYPORT_TEST_LOCK"

func TestMain(m *testing.M) {
	file := os.Getenv(asWriter)
	if file == "" {
		os.Exit(m.Run())
	}
	l, err := Open(Options{File: file})
	for n := 1; err == nil; n++ {
		if err = l.Approve(context.Background(), fmt.Sprintf("p%d", n), "", terms(n, "x", "y").Pin("p.wasm")); err == nil {
			fmt.Println(n)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// A process killed during a write leaves a readable file with everything that it had reported as
// written, and no lock that blocks others.
func TestLock_survivesAKilledWriter(t *testing.T) {
	o := fileOptions(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), asWriter+"="+o.File)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		written := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Error(lines.Text())
			}
			if written = n; n == 5+round {
				go func() { // ends with the process
					time.Sleep(time.Duration(round) * time.Millisecond)
					_ = cmd.Process.Kill()
				}()
			}
		}
		_ = cmd.Wait() // killed
		l := open(t, o)
		if written < 5+round {
			t.Errorf("round %d wrote %d", round, written)
		}
		for n := 1; n <= written; n++ {
			wantDigest(t, l, fmt.Sprintf("p%d", n), digest(n))
		}
		if err := l.Approve(t.Context(), "after", "", terms(1).Pin("p.wasm")); err != nil {
			t.Error(err)
		}
	}
}
