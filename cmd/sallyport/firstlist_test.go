//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A client that lists once, immediately, sees the tools of plugins that have to be compiled first.
func TestFirstList_isWhole(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for _, name := range []string{"one", "two", "three", "four"} {
		if err := os.WriteFile(filepath.Join(dir, name+".wasm"), marked(t, unpacked(t, "misbehave"), name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := program(t, "", "serve", dir)
	ownState(cmd, filepath.Join(t.TempDir(), "state"))
	s := session(t, commandTransport(cmd), nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, tool := range list.Tools {
		for _, name := range []string{"one", "two", "three", "four"} {
			if len(tool.Name) > len(name) && tool.Name[:len(name)+1] == name+"-" {
				count[name]++
			}
		}
	}
	if len(count) != 4 || count["one"] == 0 || count["two"] != count["one"] {
		t.Errorf("the first list has %v", count)
	}
}
