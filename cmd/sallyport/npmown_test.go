//go:build clients

package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ownTests is the outcome of a library's own tests.
type ownTests struct {
	Tests    int
	Failures map[string]string // by the number and the name of a test
}

// TestClients_librariesOfNpmPassTheirOwnTests runs tests that the authors of six libraries wrote, in a script and on Node:
// each test has the same outcome in both. A few fail in both, since they ask for another version, for a message of Node's,
// or for more than the functions in testdata/npm/vitest do.
func TestClients_librariesOfNpmPassTheirOwnTests(t *testing.T) {
	dir := npmFolder(t)
	unpackOwnTests(t, dir)
	for name, least := range map[string]int{"zod": 38, "date-fns": 290, "marked": 715, "yaml": 765, "lodash": 3080, "ajv": 20} {
		t.Run(name, func(t *testing.T) {
			script := "tests_" + name + ".js"
			var here, there ownTests
			npmTool(t, dir, script, "tests", &here)
			onNode(t, dir, script, &there)
			t.Logf("%d tests, of which %d fail in both", here.Tests, len(there.Failures))
			if here.Tests != there.Tests || here.Tests-len(here.Failures) < least {
				t.Errorf("got %d tests, of which %d fail, and %d on Node, want as many, of which %d pass", here.Tests, len(here.Failures), there.Tests, least)
			}
			for _, test := range slices.Sorted(maps.Keys(here.Failures)) {
				if _, ok := there.Failures[test]; !ok {
					t.Errorf("%s: got %s, want it passed, as on Node", test, here.Failures[test])
				}
			}
			for _, test := range slices.Sorted(maps.Keys(there.Failures)) {
				if _, ok := here.Failures[test]; !ok {
					t.Errorf("%s: got it passed, want %s, as on Node", test, there.Failures[test])
				}
			}
		})
	}
}

// unpackOwnTests adds the tests to the folder of the libraries. Those of zod and date-fns are in packages of npm; date-fns
// ships none since version 1, and the older ones are given its current functions.
func unpackOwnTests(t *testing.T, dir string) {
	t.Helper()
	for _, x := range []struct{ archive, member, into string }{
		{"ajv", "*/spec", "own/ajv"}, {"marked", "*/test", "node_modules/marked-4"},
		{"yaml", "*/tests", "own/yaml"}, {"lodash", "*/test/test.js", "own/lodash"},
	} {
		file, err := filepath.Abs(filepath.Join("..", "..", "build", "libraries", x.archive))
		if err != nil {
			t.Fatal(err)
		}
		into := filepath.Join(dir, x.into)
		if err := os.MkdirAll(into, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("tar", "-xf", file, "-C", into, "--strip-components=1", "--wildcards", x.member).CombinedOutput(); err != nil {
			t.Fatalf("make clients fetches the tests of %s: %v\n%s", x.archive, err, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "own/lodash/test/test.js"))
	if err != nil {
		t.Fatal(err)
	}
	half := bytes.IndexByte(text[len(text)/2:], '\n') + len(text)/2
	writeOwn(t, filepath.Join(dir, "own/lodash/1.txt"), string(text[:half]))
	writeOwn(t, filepath.Join(dir, "own/lodash/2.txt"), string(text[half+1:]))
	// The tests of ajv take the library and chai from a browser, or from Node.
	for file, text := range map[string]string{
		"ajv": `export { default } from "ajv/dist/ajv";`, "ajv2019": `export { default } from "ajv/dist/2019";`,
		"ajv2020": `export { default } from "ajv/dist/2020";`, "ajv_jtd": `export { default } from "ajv/dist/jtd";`,
		"chai": `import * as chai from "chai"; export default chai;`, "ajv_options": `export default { allErrors: true };`,
	} {
		writeOwn(t, filepath.Join(dir, "own/ajv/spec", file+".ts"), text)
	}
	tests, err := filepath.Glob(filepath.Join(dir, "node_modules/date-fns-0/src/__tests__/*_test.js"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("got %d tests of date-fns, %v", len(tests), err)
	}
	letter := regexp.MustCompile(`_([a-z])`)
	for _, file := range tests {
		name := strings.TrimSuffix(filepath.Base(file), "_test.js")
		camel := letter.ReplaceAllStringFunc(name, func(s string) string { return strings.ToUpper(s[1:]) })
		writeOwn(t, filepath.Join(filepath.Dir(filepath.Dir(file)), name+".js"), `module.exports = require("date-fns").`+camel+`;`)
	}
}

func writeOwn(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// npmTool calls a tool of a script in the folder, and decodes its structured content.
func npmTool(t *testing.T, dir, script, tool string, into any) {
	t.Helper()
	cmd := program(t, "", "call", filepath.Join(dir, script), tool, "--seed", "x")
	cmd.Env = append(cmd.Env, "SALLYPORT_LIMITS_MEMORY=512MiB", "SALLYPORT_LIMITS_DEADLINE=120s", "SALLYPORT_LIMITS_START=120s")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, log.Bytes())
	}
	var result struct{ StructuredContent json.RawMessage }
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(result.StructuredContent, into); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// onNode bundles a script for Node, and decodes what its tool tests returns there.
func onNode(t *testing.T, dir, script string, into any) {
	t.Helper()
	bundle := exec.Command(filepath.Join(dir, "node_modules/.bin/esbuild"), script, "--bundle", "--format=esm", "--platform=neutral", "--main-fields=module,main",
		"--alias:sallyport=./node_tool.js", "--ignore-annotations", "--log-level=error", "--outfile=bundle.mjs")
	bundle.Dir, bundle.Stderr = dir, t.Output()
	if err := bundle.Run(); err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", "node.mjs", "./bundle.mjs")
	node.Dir, node.Stderr = dir, t.Output()
	node.Env = append(os.Environ(), "TZ=UTC")
	out, err := node.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("%v: %.200s", err, out)
	}
}
