package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// The libraries that fill the heap while packages are initialized find its collection delayed.
func TestProgram_delaysCollectionBeforeLibraries(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "--help")
	cmd.Env = append(os.Environ(), asProgram+"=1", "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	heap := bytes.Index(trace.Bytes(), []byte("/internal/heap @"))
	for _, library := range []string{"santhosh-tekuri/jsonschema/v6 @", "modernc.org/libc @"} {
		if at := bytes.Index(trace.Bytes(), []byte(library)); heap < 0 || at < heap {
			t.Errorf("got %s at %d and the package heap at %d of\n%s", library, at, heap, trace.Bytes())
		}
	}
}
