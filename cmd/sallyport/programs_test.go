//go:build programs

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// programCase is one call of a tool, and the same on the program's own command line.
type programCase struct {
	tool  string
	args  map[string]any
	line  []string
	stdin string
	fails bool
	json  bool // compare structured content with the JSON values of the output
}

// wrappedPrograms are programs of others, each with the package to build, the folder of its go.mod, and its cases.
var wrappedPrograms = []struct {
	name, pkg, dir string
	cases          []programCase
}{
	{"gojq", "github.com/itchyny/gojq/cmd/gojq", "../../plugins/gojq", []programCase{
		{"text", map[string]any{"filter": ".[] | [.a, .b] | @csv", "input": `[{"a":1,"b":"x,y"},{"a":2,"b":"z"}]`}, []string{"-r", ".[] | [.a, .b] | @csv"}, `[{"a":1,"b":"x,y"},{"a":2,"b":"z"}]`, false, false},
		{"text", map[string]any{"filter": ".", "input": `{"b":1,"a":[1,{}]}`, "indent": 3}, []string{"--indent", "3", "."}, `{"b":1,"a":[1,{}]}`, false, false},
		{"filter", map[string]any{"filter": "group_by(.k) | map({k: .[0].k, n: length})", "input": `{"k":1} {"k":2} {"k":1}`, "slurp": true}, []string{"-c", "-s", "group_by(.k) | map({k: .[0].k, n: length})"}, `{"k":1} {"k":2} {"k":1}`, false, true},
		{"filter", map[string]any{"filter": "-1, (now | type)"}, []string{"-c", "-n", "--", "-1, (now | type)"}, "", false, true},
		{"filter", map[string]any{"filter": ".a[", "input": "1"}, []string{"-c", ".a["}, "1", true, false},
	}},
	{"goawk", "github.com/benhoyt/goawk", "testdata/programs", []programCase{
		{"run", map[string]any{"program": "{ s += $2 } END { print s }", "input": "a 1\nb 2.5\n"}, []string{"{ s += $2 } END { print s }"}, "a 1\nb 2.5\n", false, false},
		{"run", map[string]any{"program": "{ print $2 }", "input": "a,b\n\"c\",\"d,e\"\n", "csv": true}, []string{"-i", "csv", "{ print $2 }"}, "a,b\n\"c\",\"d,e\"\n", false, false},
		{"run", map[string]any{"program": "{ print x, $1, y }", "input": "1:2", "separator": ":", "variables": []string{"x=a b", "y=$(id)"}}, []string{"-F:", "-v", "x=a b", "-v", "y=$(id)", "{ print x, $1, y }"}, "1:2", false, false},
		{"run", map[string]any{"program": "BEGIN { while (getline line) n++; print n + 0 }", "input": strings.Repeat("größe\n", 1000)}, []string{"BEGIN { while (getline line) n++; print n + 0 }"}, strings.Repeat("größe\n", 1000), false, false},
		{"run", map[string]any{"program": "BEGIN { print 1 +"}, []string{"BEGIN { print 1 +"}, "", true, false},
	}},
	{"shfmt", "mvdan.cc/sh/v3/cmd/shfmt", "testdata/programs", []programCase{
		{"format", map[string]any{"script": "if true;then echo   $a;fi\n"}, nil, "if true;then echo   $a;fi\n", false, false},
		{"format", map[string]any{"script": "f(){\nfor i in 1 2;do echo $i;done\n}\n", "indent": 4}, []string{"--indent=4"}, "f(){\nfor i in 1 2;do echo $i;done\n}\n", false, false},
		{"format", map[string]any{"script": "[[ ! -z \"$a\" ]] && echo $((${x}+1))", "simplify": true, "language": "bash"}, []string{"--simplify", "--language-dialect=bash"}, "[[ ! -z \"$a\" ]] && echo $((${x}+1))", false, false},
		{"tree", map[string]any{"script": "echo hi | cat"}, []string{"--to-json"}, "echo hi | cat", false, true},
		{"format", map[string]any{"script": "if true; then"}, nil, "if true; then", true, false},
	}},
	{"yq", "github.com/mikefarah/yq/v4", "testdata/programs", []programCase{
		{"evaluate", map[string]any{"expression": ".a[1].b", "input": "a:\n  - b: 1\n  - b: two\n"}, []string{"eval", "--no-colors", "--expression", ".a[1].b", "-"}, "a:\n  - b: 1\n  - b: two\n", false, false},
		{"evaluate", map[string]any{"expression": ".", "input": "a: [1, {b: c}]\n", "to": "json"}, []string{"eval", "--output-format=json", "--no-colors", "--expression", ".", "-"}, "a: [1, {b: c}]\n", false, false},
		{"evaluate", map[string]any{"expression": ".", "input": `{"a":{"b":"x & y"}}`, "from": "json", "to": "xml"}, []string{"eval", "--input-format=json", "--output-format=xml", "--no-colors", "--expression", ".", "-"}, `{"a":{"b":"x & y"}}`, false, false},
		{"evaluate", map[string]any{"expression": ".[] | select(.n > 1)", "input": "n,s\n1,a\n2,b\n", "from": "csv", "to": "yaml"}, []string{"eval", "--input-format=csv", "--output-format=yaml", "--no-colors", "--expression", ".[] | select(.n > 1)", "-"}, "n,s\n1,a\n2,b\n", false, false},
		{"evaluate", map[string]any{"expression": ".a[", "input": "a: 1"}, []string{"eval", "--no-colors", "--expression", ".a[", "-"}, "a: 1", true, false},
	}},
	{"esbuild", "github.com/evanw/esbuild/cmd/esbuild", "testdata/programs", []programCase{
		{"transform", map[string]any{"code": "let x: number = 1; export default x", "loader": "ts"}, []string{"--loader=ts", "--log-level=warning"}, "let x: number = 1; export default x", false, false},
		{"transform", map[string]any{"code": "const a = <b c={1}>d</b>", "loader": "jsx", "minify": true}, []string{"--loader=jsx", "--minify", "--log-level=warning"}, "const a = <b c={1}>d</b>", false, false},
		{"transform", map[string]any{"code": "a ??= b?.c; export const f = async () => { for await (const x of y) z(x) }", "target": "es2017", "format": "cjs"}, []string{"--target=es2017", "--format=cjs", "--log-level=warning"}, "a ??= b?.c; export const f = async () => { for await (const x of y) z(x) }", false, false},
		{"transform", map[string]any{"code": "a { color: #ff0000; & b { margin: 0px } }", "loader": "css", "minify": true}, []string{"--loader=css", "--minify", "--log-level=warning"}, "a { color: #ff0000; & b { margin: 0px } }", false, false},
		{"transform", map[string]any{"code": "let = ("}, []string{"--log-level=warning"}, "let = (", true, false},
	}},
}

// TestPrograms_equalTheirNativeSelves wraps programs that nobody here wrote, with the recipes of docs/programs.md.
func TestPrograms_equalTheirNativeSelves(t *testing.T) {
	for _, p := range wrappedPrograms {
		t.Run(p.name, func(t *testing.T) {
			wasm := filepath.Join(t.TempDir(), p.name+".wasm")
			native := filepath.Join(t.TempDir(), p.name)
			buildProgram(t, p.dir, p.pkg, native)
			buildProgram(t, p.dir, p.pkg, wasm, "GOOS=wasip1", "GOARCH=wasm")
			dir := folder(t, wasm)
			if err := os.WriteFile(filepath.Join(dir, p.name+".tool.yaml"), recipe(t, p.name), 0o600); err != nil {
				t.Fatal(err)
			}
			s := connect(t, "plugins: {"+p.name+": {limits: {memory: 512MiB}}}", dir)
			for _, c := range p.cases {
				cmd := exec.Command(native, c.line...)
				cmd.Stdin = strings.NewReader(c.stdin)
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				err := cmd.Run()
				r := call(t, s, p.name+"-"+c.tool, c.args)
				compareProgram(t, c, r, err, stdout.String(), stderr.String())
			}
		})
	}
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
	case c.json:
		want := "[" + strings.Join(strings.Fields(stdout), ",") + "]"
		got := strings.Join(strings.Fields(text(r)), "")
		if want = `{"result":` + want + `}`; c.tool == "tree" {
			want = strings.Join(strings.Fields(stdout), "")
		}
		if got != want {
			t.Errorf("%v: got %.500s, natively %.500s", c.args, got, want)
		}
	case text(r) != stdout:
		t.Errorf("%v: got %.500q, want natively %.500q", c.args, text(r), stdout)
	}
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
