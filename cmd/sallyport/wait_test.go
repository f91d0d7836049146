package main

import (
	"bytes"
	"os/exec"
	"testing"
	"time"
)

// eventually polls until ok returns true. It is for conditions of another process (the program, a browser, the kernel)
// that sends no event for them; within this process a test waits for a channel or a line of output.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	const pause = 20 * time.Millisecond
	for range time.Minute / pause {
		if ok() {
			return
		}
		time.Sleep(pause)
	}
	t.Fatalf("never: %s", what)
}

// soon receives from a channel within a minute.
func soon[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
	}
	return v
}

// hearsUntil receives notifications of changed lists until ok returns true: those of the program's start may still come
// before that of a change which a test makes.
func hearsUntil(t *testing.T, changed <-chan struct{}, ok func() bool) {
	t.Helper()
	for soon(t, changed); !ok(); {
		soon(t, changed)
	}
}

// hang is the deadline of the program's exit. The deadlines of its parts add up to less than half.
const hang = 2 * time.Minute

// ends waits for the program to exit, and fails if it has to be killed.
func ends(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	killed := make(chan struct{})
	timer := time.AfterFunc(hang, func() { close(killed); cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	select {
	case <-killed:
		t.Error("it does not end")
	default:
	}
	return err
}

// wantEnd waits for the program to exit, and fails unless it exits successfully.
func wantEnd(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := ends(t, cmd); err != nil {
		t.Errorf("%v: got %v, want exit code 0", cmd.Args[1:], err)
	}
}

// outputOfError runs the program, which must exit with an error, and returns its output.
func outputOfError(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := ends(t, cmd); err == nil {
		t.Errorf("%v: got exit code 0, want an error: %s", cmd.Args[1:], out.String())
	}
	return out.String()
}
