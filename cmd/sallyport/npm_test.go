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

// npmFolder returns a folder with the libraries from npm, and the script that uses them.
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
// each have the answers of Node, and three files of zod's own tests pass.
func TestClients_librariesOfNpmAnswerAsInNode(t *testing.T) {
	dir := npmFolder(t)
	structured := func(tool string, into any) {
		t.Helper()
		cmd := program(t, "", "call", filepath.Join(dir, "libraries.js"), tool, "--seed", "x")
		cmd.Env = append(cmd.Env, "SALLYPORT_LIMITS_MEMORY=256MiB")
		cmd.Stderr = t.Output()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var result struct{ StructuredContent json.RawMessage }
		if err := json.Unmarshal(out, &result); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(result.StructuredContent, into); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
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
	structured("answers", &got)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: got %s, want %s", name, got[name], want[name])
		}
	}
	if len(want) != 18 || len(got) != len(want) {
		t.Errorf("got %d answers, and %d of Node, want 18", len(got), len(want))
	}
	var own struct {
		Tests, Expectations int
		Failures            []string
	}
	structured("tests", &own)
	if own.Tests < 35 || own.Expectations < 200 || len(own.Failures) > 0 {
		t.Errorf("got %d tests of zod with %d expectations, and the failures %q, want 35 with 200 at least, and none", own.Tests, own.Expectations, own.Failures)
	}
}
