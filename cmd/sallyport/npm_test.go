//go:build clients

package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// npmFolder returns a folder with the libraries from npm, and the scripts that use them.
func npmFolder(t *testing.T) string {
	t.Helper()
	from, dir := filepath.Join("testdata", "npm"), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	npm := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", npm, err, out)
	}
	if err := os.CopyFS(filepath.Join(dir, "node_modules", "vitest"), os.DirFS(filepath.Join(from, "vitest"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestClients_librariesOfNpmAnswerAsInNode runs zod, date-fns, marked, yaml, lodash-es and ajv inside a script: three cases
// each have the answers of Node.
func TestClients_librariesOfNpmAnswerAsInNode(t *testing.T) {
	dir := npmFolder(t)
	node := exec.Command("node", "--input-type=module", "-e", `import { answers } from "./cases.js"; console.log(JSON.stringify(answers()))`)
	node.Dir, node.Stderr = dir, t.Output()
	raw, err := node.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	npmTool(t, dir, "libraries.js", "answers", &got)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: got %s, want %s", name, got[name], want[name])
		}
	}
	if len(want) != 18 || len(got) != len(want) {
		t.Errorf("got %d answers, and %d of Node, want 18", len(got), len(want))
	}
}
