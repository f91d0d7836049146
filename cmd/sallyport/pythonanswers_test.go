//go:build clients

package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The answers that the registry's test of the standard library wants are those of CPython.
func TestClients_libraryAnswersOfCPython(t *testing.T) {
	dir := filepath.Join("..", "..", "registry", "testdata", "scripts")
	out, err := exec.Command("python3", filepath.Join(dir, "answers.py"), filepath.Join(dir, "library.txt")).Output()
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join(dir, "library.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(golden, &want); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %s, want %s", out, golden)
	}
}
