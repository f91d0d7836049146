package main

import (
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
