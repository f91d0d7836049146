//go:build programs

package main

import "strings"

// programCase is one call of a tool, and the same on the program's own command line.
type programCase struct {
	tool  string
	args  map[string]any
	line  []string
	stdin string
	fails bool
	// output is that of the tool file: of json and jsonl, the values are compared.
	output string
}

// wrappedPrograms are programs of others, each with the package to build, the folder of its go.mod, and its cases.
var wrappedPrograms = []struct {
	name, pkg, dir string
	cases          []programCase
}{
	{"gojq", "github.com/itchyny/gojq/cmd/gojq", "../../plugins/gojq", []programCase{
		{"text", map[string]any{"filter": ".[] | [.a, .b] | @csv", "input": `[{"a":1,"b":"x,y"},{"a":2,"b":"z"}]`}, []string{"-r", ".[] | [.a, .b] | @csv"}, `[{"a":1,"b":"x,y"},{"a":2,"b":"z"}]`, false, ""},
		{"text", map[string]any{"filter": ".", "input": `{"b":1,"a":[1,{}]}`, "indent": 3}, []string{"--indent", "3", "."}, `{"b":1,"a":[1,{}]}`, false, ""},
		{"filter", map[string]any{"filter": "group_by(.k) | map({k: .[0].k, n: length})", "input": `{"k":1} {"k":2} {"k":1}`, "slurp": true}, []string{"-c", "-s", "group_by(.k) | map({k: .[0].k, n: length})"}, `{"k":1} {"k":2} {"k":1}`, false, "jsonl"},
		{"filter", map[string]any{"filter": "-1, (now | type)"}, []string{"-c", "-n", "--", "-1, (now | type)"}, "", false, "jsonl"},
		{"filter", map[string]any{"filter": ".a[", "input": "1"}, []string{"-c", ".a["}, "1", true, ""},
	}},
	{"goawk", "github.com/benhoyt/goawk", "../../plugins/goawk", []programCase{
		{"run", map[string]any{"program": "{ s += $2 } END { print s }", "input": "a 1\nb 2.5\n"}, []string{"{ s += $2 } END { print s }"}, "a 1\nb 2.5\n", false, ""},
		{"run", map[string]any{"program": "{ print $2 }", "input": "a,b\n\"c\",\"d,e\"\n", "csv": true}, []string{"-i", "csv", "{ print $2 }"}, "a,b\n\"c\",\"d,e\"\n", false, ""},
		{"run", map[string]any{"program": "{ print x, $1, y }", "input": "1:2", "separator": ":", "variables": []string{"x=a b", "y=$(id)"}}, []string{"-F:", "-v", "x=a b", "-v", "y=$(id)", "{ print x, $1, y }"}, "1:2", false, ""},
		{"run", map[string]any{"program": "BEGIN { while (getline line) n++; print n + 0 }", "input": strings.Repeat("größe\n", 1000)}, []string{"BEGIN { while (getline line) n++; print n + 0 }"}, strings.Repeat("größe\n", 1000), false, ""},
		{"run", map[string]any{"program": "BEGIN { print 1 +"}, []string{"BEGIN { print 1 +"}, "", true, ""},
	}},
	{"shfmt", "mvdan.cc/sh/v3/cmd/shfmt", "testdata/programs", []programCase{
		{"format", map[string]any{"script": "if true;then echo   $a;fi\n"}, nil, "if true;then echo   $a;fi\n", false, ""},
		{"format", map[string]any{"script": "f(){\nfor i in 1 2;do echo $i;done\n}\n", "indent": 4}, []string{"--indent=4"}, "f(){\nfor i in 1 2;do echo $i;done\n}\n", false, ""},
		{"format", map[string]any{"script": "[[ ! -z \"$a\" ]] && echo $((${x}+1))", "simplify": true, "language": "bash"}, []string{"--simplify", "--language-dialect=bash"}, "[[ ! -z \"$a\" ]] && echo $((${x}+1))", false, ""},
		{"tree", map[string]any{"script": "echo hi | cat"}, []string{"--to-json"}, "echo hi | cat", false, "json"},
		{"format", map[string]any{"script": "if true; then"}, nil, "if true; then", true, ""},
	}},
	{"yq", "github.com/mikefarah/yq/v4", "testdata/programs", []programCase{
		{"evaluate", map[string]any{"expression": ".a[1].b", "input": "a:\n  - b: 1\n  - b: two\n"}, []string{"eval", "--no-colors", "--expression", ".a[1].b", "-"}, "a:\n  - b: 1\n  - b: two\n", false, ""},
		{"evaluate", map[string]any{"expression": ".", "input": "a: [1, {b: c}]\n", "to": "json"}, []string{"eval", "--output-format=json", "--no-colors", "--expression", ".", "-"}, "a: [1, {b: c}]\n", false, ""},
		{"evaluate", map[string]any{"expression": ".", "input": `{"a":{"b":"x & y"}}`, "from": "json", "to": "xml"}, []string{"eval", "--input-format=json", "--output-format=xml", "--no-colors", "--expression", ".", "-"}, `{"a":{"b":"x & y"}}`, false, ""},
		{"evaluate", map[string]any{"expression": ".[] | select(.n > 1)", "input": "n,s\n1,a\n2,b\n", "from": "csv", "to": "yaml"}, []string{"eval", "--input-format=csv", "--output-format=yaml", "--no-colors", "--expression", ".[] | select(.n > 1)", "-"}, "n,s\n1,a\n2,b\n", false, ""},
		{"evaluate", map[string]any{"expression": ".a[", "input": "a: 1"}, []string{"eval", "--no-colors", "--expression", ".a[", "-"}, "a: 1", true, ""},
	}},
	{"esbuild", "github.com/evanw/esbuild/cmd/esbuild", "testdata/programs", []programCase{
		{"transform", map[string]any{"code": "let x: number = 1; export default x", "loader": "ts"}, []string{"--loader=ts", "--log-level=warning"}, "let x: number = 1; export default x", false, ""},
		{"transform", map[string]any{"code": "const a = <b c={1}>d</b>", "loader": "jsx", "minify": true}, []string{"--loader=jsx", "--minify", "--log-level=warning"}, "const a = <b c={1}>d</b>", false, ""},
		{"transform", map[string]any{"code": "a ??= b?.c; export const f = async () => { for await (const x of y) z(x) }", "target": "es2017", "format": "cjs"}, []string{"--target=es2017", "--format=cjs", "--log-level=warning"}, "a ??= b?.c; export const f = async () => { for await (const x of y) z(x) }", false, ""},
		{"transform", map[string]any{"code": "a { color: #ff0000; & b { margin: 0px } }", "loader": "css", "minify": true}, []string{"--loader=css", "--minify", "--log-level=warning"}, "a { color: #ff0000; & b { margin: 0px } }", false, ""},
		{"transform", map[string]any{"code": "let = ("}, []string{"--log-level=warning"}, "let = (", true, ""},
	}},
	{"md2man", "github.com/cpuguy83/go-md2man/v2", "testdata/programs", []programCase{
		{tool: "manual", args: map[string]any{"markdown": manual}, stdin: manual},
		{tool: "manual", args: map[string]any{"markdown": "# x 1\n\n| a | b |\n|---|---|\n| 1 | *2* |\n"}, stdin: "# x 1\n\n| a | b |\n|---|---|\n| 1 | *2* |\n"},
		{tool: "manual", args: map[string]any{"markdown": "- one\n  - two\n\n1. three\n\n> größer\n"}, stdin: "- one\n  - two\n\n1. three\n\n> größer\n"},
		{tool: "manual", args: map[string]any{"markdown": ".so /etc/passwd\n\n'quoted \\\\fB\n"}, stdin: ".so /etc/passwd\n\n'quoted \\\\fB\n"},
		{tool: "manual", args: map[string]any{"markdown": strings.Repeat("~~~\n-code\n~~~\n\n[a](b) `c`\n\n", 500)}, stdin: strings.Repeat("~~~\n-code\n~~~\n\n[a](b) `c`\n\n", 500)},
	}},
	{"org", "github.com/niklasfasching/go-org", "testdata/programs", []programCase{
		{tool: "render", args: map[string]any{"text": outline, "format": "html"}, line: []string{"render", "html"}, stdin: outline},
		{tool: "render", args: map[string]any{"text": outline, "format": "html-chroma"}, line: []string{"render", "html-chroma"}, stdin: outline},
		{tool: "render", args: map[string]any{"text": outline, "format": "org"}, line: []string{"render", "org"}, stdin: outline},
		{tool: "render", args: map[string]any{"text": "", "format": "html"}, line: []string{"render", "html"}},
		{tool: "render", args: map[string]any{"text": strings.Repeat("* a\n:PROPERTIES:\n:b: c\n:END:\n1. x\n", 300), "format": "org"}, line: []string{"render", "org"}, stdin: strings.Repeat("* a\n:PROPERTIES:\n:b: c\n:END:\n1. x\n", 300)},
	}},
	{"jsonnet", "github.com/google/go-jsonnet/cmd/jsonnet", "testdata/programs", []programCase{
		{tool: "evaluate", args: map[string]any{"code": "{ a: 1 + 2, b: self.a * 2, c:: 'hidden' }"}, line: []string{"-"}, stdin: "{ a: 1 + 2, b: self.a * 2, c:: 'hidden' }"},
		{tool: "evaluate", args: map[string]any{"code": "std.extVar('x') + std.extVar('y')", "variables": []string{"x=a b", "y=$(id)"}, "text": true}, line: []string{"-V", "x=a b", "-V", "y=$(id)", "-S", "-"}, stdin: "std.extVar('x') + std.extVar('y')"},
		{tool: "evaluate", args: map[string]any{"code": "[std.md5('größe'), std.sort([3, 1, 2]), std.manifestYamlDoc({ a: [1] })]"}, line: []string{"-"}, stdin: "[std.md5('größe'), std.sort([3, 1, 2]), std.manifestYamlDoc({ a: [1] })]"},
		{tool: "evaluate", args: map[string]any{"code": "local f(n) = if n < 2 then n else f(n - 1) + f(n - 2); f(15)"}, line: []string{"-"}, stdin: "local f(n) = if n < 2 then n else f(n - 1) + f(n - 2); f(15)"},
		{tool: "evaluate", args: map[string]any{"code": "{ a: error 'no' }"}, line: []string{"-"}, stdin: "{ a: error 'no' }", fails: true},
	}},
	{"tomljson", "github.com/pelletier/go-toml/v2/cmd/tomljson", "testdata/programs", []programCase{
		{tool: "convert", args: map[string]any{"toml": "a = 1\n[b]\nc = [1.5, 2]\n"}, stdin: "a = 1\n[b]\nc = [1.5, 2]\n", output: "json"},
		{tool: "convert", args: map[string]any{"toml": "[[x]]\nn = \"größe\"\n[[x]]\nn = 'b'\n"}, stdin: "[[x]]\nn = \"größe\"\n[[x]]\nn = 'b'\n", output: "json"},
		{tool: "convert", args: map[string]any{"toml": "d = 2026-11-22T10:00:00Z\nt = true\nh = 0xff\n"}, stdin: "d = 2026-11-22T10:00:00Z\nt = true\nh = 0xff\n", output: "json"},
		{tool: "convert", args: map[string]any{"toml": ""}, output: "json"},
		{tool: "convert", args: map[string]any{"toml": "a = ["}, stdin: "a = [", fails: true},
	}},
	{"yamlfmt", "github.com/google/yamlfmt/cmd/yamlfmt", "testdata/programs", []programCase{
		{tool: "format", args: map[string]any{"yaml": "a:   1\nb:\n      - c\n      -   d\n"}, line: []string{"-no_global_conf", "-in"}, stdin: "a:   1\nb:\n      - c\n      -   d\n"},
		{tool: "format", args: map[string]any{"yaml": "a:\n  b: {c: 1}\n", "indent": 4}, line: []string{"-no_global_conf", "-in", "-formatter", "indent=4"}, stdin: "a:\n  b: {c: 1}\n"},
		{tool: "format", args: map[string]any{"yaml": "# größe\na: |\n   x\n---\nb: 'y'\n", "start": true}, line: []string{"-no_global_conf", "-in", "-formatter", "include_document_start=true"}, stdin: "# größe\na: |\n   x\n---\nb: 'y'\n"},
		{tool: "format", args: map[string]any{"yaml": strings.Repeat("- {a:  1}\n", 2000)}, line: []string{"-no_global_conf", "-in"}, stdin: strings.Repeat("- {a:  1}\n", 2000)},
		{tool: "format", args: map[string]any{"yaml": "a: [1"}, line: []string{"-no_global_conf", "-in"}, stdin: "a: [1", fails: true},
	}},
	{"markdownfmt", "github.com/Kunde21/markdownfmt/v3/cmd/markdownfmt", "testdata/programs", []programCase{
		{tool: "format", args: map[string]any{"markdown": manual}, stdin: manual},
		{tool: "format", args: map[string]any{"markdown": "Größe\n=====\n\n* a\n    * b\n"}, stdin: "Größe\n=====\n\n* a\n    * b\n"},
		{tool: "format", args: map[string]any{"markdown": "# a\n## b\n", "underline": true}, line: []string{"-u"}, stdin: "# a\n## b\n"},
		{tool: "format", args: map[string]any{"markdown": "```go\nfunc  main( ) { }\n```\n", "gofmt": true}, line: []string{"-gofmt"}, stdin: "```go\nfunc  main( ) { }\n```\n"},
		{tool: "format", args: map[string]any{"markdown": "1. a\n2. b\n   - c\n\n| x | y |\n|-|-|\n| 1 | größer |\n", "lists": "uniform"}, line: []string{"-list-indent-style=uniform"}, stdin: "1. a\n2. b\n   - c\n\n| x | y |\n|-|-|\n| 1 | größer |\n"},
	}},
}

// Inputs of several cases.
const (
	manual  = "# made 1 \"2026\" \"Manual\"\n\n## NAME\n\nmade - makes **things**\n\n## OPTIONS\n\n**-v**, **--verbose**\n: says _more_\n\n    code\n\n[link](https://example.com)\n"
	outline = "#+TITLE: Größe\n* One :tag:\n- a\n- [ ] b\n| x | y |\n|---+---|\n| 1 | 2 |\n#+BEGIN_SRC go\nfunc main() {}\n#+END_SRC\n** Two\n/it/ *b* [[https://example.com][link]]\n"
)
