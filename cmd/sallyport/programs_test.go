//go:build programs

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestPrograms_equalTheirNativeSelves wraps programs that nobody here wrote, with the recipes of docs/programs.md.
func TestPrograms_equalTheirNativeSelves(t *testing.T) {
	for _, p := range wrappedPrograms {
		t.Run(p.name, func(t *testing.T) {
			wasm := filepath.Join(t.TempDir(), p.name+".wasm")
			native := filepath.Join(t.TempDir(), p.name)
			buildProgram(t, p.dir, p.pkg, native)
			buildProgram(t, p.dir, p.pkg, wasm, "GOOS=wasip1", "GOARCH=wasm")
			playCases(t, p.name, wasm, native, p.cases)
		})
	}
}

// startsOnce makes the tools of a recipe start once for all calls.
func startsOnce(name string, recipe []byte) []byte {
	recipe = regexp.MustCompile(`(?m)^ +start: once\n|^program: .*\n`).ReplaceAll(recipe, nil)
	return append([]byte("program: "+name+"\n"), regexp.MustCompile(`(?m)^( +)- name: .*$`).ReplaceAll(recipe, []byte("$0\n$1  start: once"))...)
}

// playCases wraps a program with its recipe, and compares each case with the native program: in a start of its own, and
// in a copy of one start.
func playCases(t *testing.T, name, wasm, native string, cases []programCase) {
	t.Helper()
	for _, recipe := range [][]byte{recipe(t, name), startsOnce(name, recipe(t, name))} {
		dir := folder(t, wasm)
		put(t, filepath.Join(dir, name+".tool.yaml"), recipe)
		playCasesOf(t, name, dir, native, cases)
	}
}

func playCasesOf(t *testing.T, name, dir, native string, cases []programCase) {
	t.Helper()
	s := connect(t, "plugins: {"+name+": {limits: {memory: 512MiB}}}", dir)
	for _, c := range cases {
		cmd := exec.Command(native, c.line...)
		cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(c.stdin)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		r := call(t, s, name+"-"+c.tool, c.args)
		compareProgram(t, c, r, err, stdout.String(), stderr.String())
	}
}

// TestPrograms_buildTheSiteOfTheirNativeSelves builds a static site, and compares the files.
func TestPrograms_buildTheSiteOfTheirNativeSelves(t *testing.T) {
	wasm, native := filepath.Join(t.TempDir(), "org.wasm"), filepath.Join(t.TempDir(), "org")
	buildProgram(t, "testdata/programs", "github.com/niklasfasching/go-org", native)
	buildProgram(t, "testdata/programs", "github.com/niklasfasching/go-org", wasm, "GOOS=wasip1", "GOARCH=wasm")
	dir := folder(t, wasm)
	put(t, filepath.Join(dir, "org.tool.yaml"), recipe(t, "org"))
	sites := []string{t.TempDir(), t.TempDir()}
	s := connect(t, "plugins: {org: {workspace: "+sites[1]+", limits: {memory: 512MiB}, grants: ['fs: write {workspace}/**']}}", dir)
	for _, step := range []string{"init", "build"} {
		cmd := exec.Command(native, "blorg", step)
		cmd.Dir = sites[0]
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", cmd, err, text)
		}
		if r := call(t, s, "org-"+step, nil); r.IsError {
			t.Fatalf("org-%s: got %s, want success", step, text(r))
		}
		for _, site := range sites { // before build
			for name, content := range map[string]string{"index.org": outline, "deep/über.org": "#+DATE: 2026-11-22\n" + outline, "style.css": "a {}"} {
				file := filepath.Join(site, "content", name)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				put(t, file, []byte(content))
			}
		}
	}
	want, got := treeOf(t, sites[0]), treeOf(t, sites[1])
	if !maps.Equal(got, want) || got["public/index.html"] == "" || got["public/deep/über.html"] == "" {
		t.Errorf("got %v, natively %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// treeOf returns the contents of the files below a folder.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(dir, path))
		tree[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// compareProgram compares the result of a tool with the outcome of the native program.
func compareProgram(t *testing.T, c programCase, r *mcp.CallToolResult, err error, stdout, stderr string) {
	t.Helper()
	if (err != nil) != c.fails || r.IsError != c.fails {
		t.Errorf("%v: got isError %v: %s, want %v as natively", c.args, r.IsError, text(r), c.fails)
		return
	}
	switch {
	case c.fails:
		if code := exitCodeOf(r); code != err.(*exec.ExitError).ExitCode() {
			t.Errorf("%v: got exit code %d, want natively %v", c.args, code, err)
		}
		for line := range strings.SplitSeq(strings.TrimSpace(stderr), "\n") {
			if !strings.Contains(text(r), strings.TrimSpace(line)) {
				t.Errorf("%v: got %q, want natively %q", c.args, text(r), stderr)
			}
		}
	case c.output != "":
		want := c.values(t, stdout)
		if got, _ := json.Marshal(r.StructuredContent); string(got) != want {
			t.Errorf("%v: got %.500s, natively %.500s", c.args, got, want)
		}
	case text(r) != stdout:
		t.Errorf("%v: got %.500q, want natively %.500q", c.args, text(r), stdout)
	}
}

// values returns the structured content of a tool with this output of its program.
func (c programCase) values(t *testing.T, stdout string) string {
	t.Helper()
	values := []any{}
	for d := json.NewDecoder(strings.NewReader(stdout)); d.More(); {
		var value any
		if err := d.Decode(&value); err != nil {
			t.Fatalf("natively %.500q: %v", stdout, err)
		}
		values = append(values, value)
	}
	var content any = map[string]any{"result": values}
	if c.output == "json" {
		content = values[0]
	}
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// buildProgram builds a package of the module in a folder.
func buildProgram(t *testing.T, dir, pkg, out string, env ...string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(env, "GOWORK=off")...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: got %v, want success: %s", pkg, err, text)
	}
}

// recipe returns the tool file of a program: that of plugins, or the one in docs/programs.md.
func recipe(t *testing.T, name string) []byte {
	t.Helper()
	if raw, err := os.ReadFile(filepath.Join("..", "..", "plugins", name, name+".tool.yaml")); err == nil {
		return raw
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "programs.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(fmt.Sprintf("(?s)\n### %s\n.*?```yaml\n(.*?)```", name)).FindSubmatch(doc)
	if found == nil {
		t.Fatalf("docs/programs.md: got no recipe for %s, want one", name)
	}
	return found[1]
}
