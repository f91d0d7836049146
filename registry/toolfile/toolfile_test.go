package toolfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// The recipes of docs/programs.md and the tool files of plugins are read without a problem.
func TestParse_recipes(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "programs.md"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(doc, -1) {
		texts[string(block[1][:min(40, len(block[1]))])] = block[1]
	}
	own, _ := filepath.Glob(filepath.Join("..", "..", "plugins", "*", "*"+suffix))
	for _, file := range own {
		if texts[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if len(texts) < 6 || len(own) == 0 {
		t.Fatalf("got %d tool files, %d own; want at least 6, 1", len(texts), len(own))
	}
	for name, text := range texts {
		_, p, err := Parse(text)
		if err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
			continue
		}
		_, server := p.Server()
		if m, err := manifest.Parse(p.Manifest()); err != nil || len(m.Problems) > 0 || server == (len(m.Tools) > 0) {
			t.Errorf("%s: got %v, manifest %+v; want tools without problems", name, err, m)
		}
	}
}

func TestParse_errorsHaveALine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "the file is empty: write tools: and below it - name: NAME",
		"server:\n  arg: []\n":               `line 2: unknown key "arg"; did you mean "args"?`,
		"tools:\n  - name: a\n    arg: []\n": `line 3: unknown key "arg"; did you mean "args"?`,
		"tools:\n  - name: a\n    args:\n      - x\n      - \"{y}\"\n":                       "line 5: the placeholder {y} names no property of inputSchema",
		"tools:\n  - name: a\n    exit:\n      0: ok\n      300: ok\n":                       `line 5: "300" is no exit code`,
		"tools:\n  - name: a\n    inputSchema: {type: object, properties: {p: {type: 5}}}\n": `line 3: the argument "p" reaches the program nowhere`,
		"tools:\n  - name: a\n    args: [5]\n":                                               "line 3: an entry of args is a text",
		"tools:\n  - name: a\n  - name: a\n":                                                 `line 3: there is a tool "a" already`,
		"tools: &a [*a]\n":                                                                   "line 1: ",
		"tools:\n  - name: a\n    name: b\n":                                                 "line 3: ",
		"tools:\n  - name: a\n    annotations: 5\n":                                          "annotations",
		"tools: [\n": "line ",
	} {
		_, _, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// program returns a module that exports these functions.
func program(exports ...string) []byte {
	var m wasmtest.Module
	for _, name := range exports {
		m.Export(name, m.Func(nil, nil, nil))
	}
	return m.Bytes()
}

func TestRead_joinsTheToolFileBeside(t *testing.T) {
	dir := t.TempDir()
	path, beside := filepath.Join(dir, "p.wasm"), filepath.Join(dir, "p.tool.yaml")
	write := func(file string, content []byte) {
		t.Helper()
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (wasm []byte, st fileid.Stamp) {
		t.Helper()
		wasm, st, err := Read(path)
		for errors.Is(err, fileid.ErrUnsettled) {
			wasm, st, err = Read(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if now, err := Stamp(path); err != nil || now != st {
			t.Errorf("got stamp %+v, %v; want %+v as with the bytes", now, err, st)
		}
		return wasm, st
	}
	module := program("_start")
	write(path, module)
	if alone, _ := read(); !bytes.Equal(alone, module) {
		t.Errorf("module alone: got %d bytes, want its own %d", len(alone), len(module))
	}
	write(beside, []byte("tools: [{name: a, args: [x]}] # one\n"))
	first, st := read()
	b, err := wasmbin.Read(first)
	if err != nil || !command.Recognises(b) {
		t.Fatalf("got %v, want a program with a tool file", err)
	}
	write(beside, []byte("# two\ntools:\n- name: a\n  args: [x]\n"))
	if again, now := read(); !bytes.Equal(first, again) || now == st {
		t.Errorf("same tools in another layout: got equal bytes %v, stamp %+v; want true, another than %+v", bytes.Equal(first, again), now, st)
	}
	write(beside, []byte("tools: [{name: a, args: [y]}]\n"))
	if changed, _ := read(); bytes.Equal(first, changed) {
		t.Error("another command line: got the same bytes, want others")
	}
}

func TestRead_refusesWhatBelongsToNoProgram(t *testing.T) {
	dir := t.TempDir()
	path, beside := filepath.Join(dir, "p.wasm"), filepath.Join(dir, "p.tool.yaml")
	for _, c := range []struct {
		module []byte
		text   string
		want   string
	}{
		{program("mcp_handle"), "tools: [{name: a}]", "p.tool.yaml: it is for WASI programs, and the module beside it is none"},
		{program("mcp_handle", "_start"), "tools: [{name: a}]", "p.tool.yaml: it is for WASI programs"},
		{program("_start"), "tools: [{name: a}", "p.tool.yaml: line 2"},
		{program("_start"), strings.Repeat("#", command.MaxSize+1), "p.tool.yaml: the file is over 1 MiB"},
		{program("_start"), "tools: [{name: a, description: \xff}]", "p.tool.yaml: "},
	} {
		if err := errors.Join(os.WriteFile(path, c.module, 0o600), os.WriteFile(beside, []byte(c.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40s: got %v, want %s", c.text, err, c.want)
		}
	}
	if err := errors.Join(os.Remove(beside), os.Mkdir(beside, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), "p.tool.yaml: not a regular file") {
		t.Errorf("a folder: got %v, want an error that it is not a regular file", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("tools:\n  - name: a\n    args: [x, \"{y}\"]\n    inputSchema: {type: object, properties: {y: {type: string}}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		raw, p, err := Parse(text)
		if err != nil {
			return
		}
		again, err := command.Parse(raw)
		if err != nil || !bytes.Equal(again.Manifest(), p.Manifest()) {
			t.Errorf("%q: got %v or another manifest from its JSON, want %s", text, err, p.Manifest())
		}
	})
}
