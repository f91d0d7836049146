//go:build !windows

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// A client that does not read the log gets all responses, and the host stops on request.
func TestServe_nobodyReadsTheLog(t *testing.T) {
	cmd := program(t, "", "serve", "--log-level", "debug", folder(t, guest(t, "misbehave")))
	unread, stderr := pipe(t)
	cmd.Stderr = stderr
	in, out := piped(t, cmd)
	answers := bufio.NewScanner(out)
	stuck := time.AfterFunc(3*hang, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	const calls = 3000 // each failure is a line of some hundred bytes, and a pipe holds 64 KiB
	for i := range calls {
		fmt.Fprintln(in, modern(fmt.Sprint(i), "tools/call", `"name":"misbehave-code","arguments":{},`))
		if !answers.Scan() {
			t.Fatalf("no answer to call %d", i)
		}
		if line := answers.Text(); !strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, i)) || !strings.Contains(line, `"kind":"guest"`) {
			t.Fatalf("call %d: %s", i, line)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := ends(t, cmd); err != nil {
		t.Errorf("its end: %v", err)
	}
	stderr.Close()
	if said, err := io.ReadAll(unread); err != nil || len(said) < 32<<10 || !strings.Contains(string(said), "call failed") {
		t.Errorf("%d bytes of the log, %v", len(said), err)
	}
}

// fullPipe returns a pipe that takes no more bytes, and that nobody reads.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	_, w := pipe(t)
	raw, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{64 << 10, 1} { // a write of more than a page may be split, and leave room
		var full error
		err := raw.Write(func(fd uintptr) bool {
			for full == nil {
				_, full = syscall.Write(int(fd), make([]byte, size))
			}
			return true
		})
		if err != nil || !errors.Is(full, syscall.EAGAIN) {
			t.Fatalf("filling a pipe: got %v, %v, want none, %v", err, full, syscall.EAGAIN)
		}
	}
	return w
}

// A call whose standard error is not read prints its result and ends.
func TestCall_nobodyReadsStandardError(t *testing.T) {
	for name, args := range map[string][]string{
		"messages": {"call", bundled(t, "conformance"), "test_tool_with_logging"},
		"the log":  {"--log-level", "debug", "call", guest(t, "misbehave"), "stderr", `{"text":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := program(t, "", args...)
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, fullPipe(t)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wantEnd(t, cmd)
			if !strings.Contains(out.String(), `"content"`) {
				t.Errorf("standard output: got %q, want the result", out.String())
			}
		})
	}
}

// A client that reads no responses and closes its input, or signals the host, does not keep the host running.
func TestServe_nobodyReadsAnswers(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*exec.Cmd, io.Closer){
		"input":   func(_ *exec.Cmd, in io.Closer) { in.Close() },
		"SIGTERM": func(cmd *exec.Cmd, _ io.Closer) { cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := program(t, "", "serve", folder(t, guest(t, "misbehave")))
			var log strings.Builder
			cmd.Stderr = &log
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			unread, stdout := pipe(t)
			cmd.Stdout = stdout
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			long := strings.Repeat("x", 100<<10) // more than a pipe holds
			for i := range 20 {
				fmt.Fprintln(in, modern(fmt.Sprint(i), "tools/call", fmt.Sprintf(`"name":"misbehave-fine","arguments":{"text":%q},`, long)))
			}
			if first := make([]byte, 20); true {
				if _, err := io.ReadFull(unread, first); err != nil {
					t.Fatal(err)
				}
			}
			stop(cmd, in)
			if err := ends(t, cmd); err == nil || !strings.Contains(log.String(), "the client did not read their answers") {
				t.Errorf("its end: %v\n%s", err, log.String())
			}
		})
	}
}
