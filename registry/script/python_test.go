package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// sourcesOf returns the paths in the container of a script.
func sourcesOf(t *testing.T, files ...string) string {
	t.Helper()
	b, err := wasmbin.Read(read(t, files...))
	if err != nil {
		t.Fatal(err)
	}
	s, ok := SourceOf(b)
	if !ok {
		t.Fatal("got no container")
	}
	var paths []string
	for _, f := range s.Files {
		paths = append(paths, f.Path)
	}
	return strings.Join(paths, " ")
}

// The modules that any import statement names are found below the folder, and no others.
func TestPython_collectsImportedModules(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"import lib.a", "lib/__init__.py lib/a.py main.py"},
		{"import os, lib.a as x, b", "b.py lib/__init__.py lib/a.py main.py"},
		{"from lib import a, c", "lib/__init__.py lib/a.py lib/c.py main.py"},
		{"from lib import (\n    a,\n    c as d,\n)", "lib/__init__.py lib/a.py lib/c.py main.py"},
		{"from lib import(a,  # the first (one)\n    c)", "lib/__init__.py lib/a.py lib/c.py main.py"},
		{"from lib.a import f", "lib/__init__.py lib/a.py main.py"},
		{"try:\n    import b\nexcept ImportError: pass", "b.py main.py"},
		{"if x: import b", "b.py main.py"},
		{"import json, nowhere", "main.py"},
		{"from .. import b", "main.py"},
		{"import deep.d", "b.py deep/d.py deep/e.py main.py"},
	} {
		got := sourcesOf(t, "main.py", c.text, "b.py", "", "lib/__init__.py", "", "lib/a.py", "", "lib/c.py", "",
			"deep/d.py", "from . import e\nfrom .. import b", "deep/e.py", "", "unused.py", "")
		if got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestPython_readsNothingOutsideOfTheFolder(t *testing.T) {
	outside := write(t, "secret.py", "")
	path := write(t, "main.py", "import link\nfrom ... import secret")
	if err := os.Symlink(outside, filepath.Join(filepath.Dir(path), "link.py")); err != nil {
		t.Fatal(err)
	}
	if got := Inputs(path); len(got) != 0 {
		t.Errorf("got %v, want no files", got)
	}
}

// The text of a script cannot make the search for its imports slow: each statement is read once, and few files are looked for.
func TestPython_boundsTheSearchForImports(t *testing.T) {
	deep := strings.Repeat("d/", 20) + "x"
	names := make([]string, 6000)
	for i := range names {
		names[i] = fmt.Sprintf("m%d", i)
	}
	for what, c := range map[string]struct{ text, file string }{
		"a module in 20 packages":           {"import " + strings.ReplaceAll(deep, "/", "."), deep + ".py"},
		"the last of 6000 modules":          {"import " + strings.Join(names, ", "), "m5999.py"},
		"a name behind 5000 others":         {"from lib import (" + strings.Repeat("b, ", 5000) + "a)", "lib/a.py"},
		"a name in brackets without an end": {"from lib import (" + strings.Repeat("\n", 5000) + "a", "lib/a.py"},
	} {
		if got := sourcesOf(t, "main.py", c.text, c.file, ""); got != "main.py" {
			t.Errorf("%s: got %s, want main.py alone", what, got)
		}
	}
	open := "from lib import (\nimport b\n"
	var seen int
	for range modulesOf("main.py", []byte(strings.Repeat(open, maxFile/len(open)))) {
		seen++
	}
	if seen < maxFile/len(open) {
		t.Errorf("brackets that stay open: got %d modules, want each statement's", seen)
	}
}

func TestPython_refusesLargeSources(t *testing.T) {
	line := strings.Repeat("#", 1023) + "\n"
	files := []string{"main.py", ""}
	for i := range 5 {
		files[1] += fmt.Sprintf("import m%d\n", i)
		files = append(files, fmt.Sprintf("m%d.py", i), strings.Repeat(line, 500))
	}
	for _, files := range [][]string{{"main.py", strings.Repeat(line, 513)}, files} {
		if _, _, err := Read(write(t, files...)); !errors.Is(err, errTooLarge) {
			t.Errorf("got %v, want too large", err)
		}
	}
}

// A container with a file that could stand in for the library is refused.
func TestPython_refusesFilesOfTheLibrary(t *testing.T) {
	s := &Source{Entry: "a.py", Files: []File{{Path: "a.py"}, {Path: pythonLibrary + "json.py"}}}
	if _, err := s.pythonModule(); err == nil {
		t.Error("got no error, want one for a path of the library")
	}
}

// Each name that the library of Python offers is declared for editors, with the parameters that it takes.
func TestPythonTypes_declareTheLibrary(t *testing.T) {
	raw, err := pythonFiles.ReadFile("python/library/sallyport.py")
	if err != nil {
		t.Fatal(err)
	}
	library := string(raw)
	_, all, _ := strings.Cut(library, "__all__ = (")
	all, _, _ = strings.Cut(all, ")")
	names := regexp.MustCompile(`\w+`).FindAllString(all, -1)
	if len(names) < 25 {
		t.Fatalf("got the names %v, want 25 at least", names)
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^(def|class) ` + name + `\b|^` + name + `: `).MatchString(PythonTypes()) {
			t.Errorf("got no declaration of %s, want one", name)
		}
		declared := strings.Join(parametersOf(PythonTypes(), name), "\n")
		for _, parameters := range parametersOf(library, name) {
			for _, p := range strings.Split(parameters, ",") {
				p, _, _ = strings.Cut(strings.TrimSpace(p), "=")
				if p != "" && !strings.HasPrefix(p, "*") && !regexp.MustCompile(`\b`+p+`\b`).MatchString(declared) {
					t.Errorf("%s: got the declaration %s, want the parameter %s", name, declared, p)
				}
			}
		}
	}
}

// parametersOf returns the parameters of the functions of a name at the top of a file of Python.
func parametersOf(text, name string) (all []string) {
	for _, m := range regexp.MustCompile(`(?ms)^def `+name+`\((.*?)\)(?: -> [^\n]*)?:`).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}
