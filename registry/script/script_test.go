package script

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// write makes a folder of files and returns the path of the first one.
func write(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, filepath.FromSlash(files[i]))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, filepath.FromSlash(files[0]))
}

func read(t testing.TB, files ...string) []byte {
	t.Helper()
	container, _, err := Read(write(t, files...))
	if err != nil {
		t.Fatal(err)
	}
	return container
}

// hello is the smallest script.
const hello = `import { tool } from "sallyport";
tool("hello", "Greets.", { name: "string" }, ({ name }: { name: string }) => "Hello, " + name);
`

// TestEngine_isBuiltFromItsSource checks that the engine was built from its current source.
func TestEngine_isBuiltFromItsSource(t *testing.T) {
	isBuiltFrom(t, "engine", "make script-engine", "build.sh", "engine.c", "quickjs.patch", "runs.h", "source/Cargo.lock", "engine.wasm")
}

func TestPythonEngine_isBuiltFromItsSource(t *testing.T) {
	isBuiltFrom(t, "python", "make python-engine", "build.sh", "Makefile", "package-lock.json", "builtins.c", "engine.c", "json.c", "literals.h", "ordered.c", "re.c", "unwind.c", "unwind.h",
		"setjmp.h", "mpconfigport.h", "mphalport.h", "unwind/main.go", "unwind/module.go", "engine.wasm")
}

// isBuiltFrom checks that the files of a folder are those of its SHA256SUMS.
func isBuiltFrom(t *testing.T, dir, command string, names ...string) {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(raw), name); err != nil || !strings.Contains(string(sums), want) {
			t.Errorf("%s: got other contents than SHA256SUMS, %v, want the same: run %s", name, err, command)
		}
	}
	if got := strings.Count(string(sums), "\n"); got != len(names) {
		t.Errorf("got %d files in SHA256SUMS, want %d", got, len(names))
	}
}

func TestIs_codeButNotDeclarations(t *testing.T) {
	for name, want := range map[string]bool{
		"a.ts": true, "a.js": true, "a.py": true, "A.TS": true, "a.d.ts": false, "a.tsx": false, "a.json": false, "ts": false, "a.ts.bak": false,
	} {
		if got := Is(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// A container has the sources as they were written, and the same bytes for the same sources in any folder.
func TestRead_keepsTheSources(t *testing.T) {
	files := []string{"hello.ts", `import { greeting } from "./lib/text"; greeting();` + "\n" + hello, "lib/text.ts", "export const greeting = 'x' // a comment", "unused.ts", "1"}
	first, second := read(t, files...), read(t, files...)
	if !bytes.Equal(first, second) {
		t.Errorf("got %q and %q, want the same bytes", first, second)
	}
	b, err := wasmbin.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := SourceOf(b)
	if !ok || s.Entry != "hello.ts" || len(s.Files) != 2 || s.Files[0].Text != files[1] || s.Files[1].Text != files[3] {
		t.Errorf("got %+v, %v, want hello.ts and lib/text.ts as they were written", s, ok)
	}
}

// The code of the module does not depend on the script, so that each engine is compiled once for all of its scripts.
func TestExpand_sharesTheCode(t *testing.T) {
	for name, texts := range map[string][2]string{"a.ts": {hello, "export default 'x'.repeat(3)"}, "a.py": {"x = 1", "print('other')"}} {
		if first, second := codeOf(t, name, texts[0]), codeOf(t, name, texts[1]); !bytes.Equal(first, second) {
			t.Errorf("%s: got different code for %q, want that of %q", name, texts[1], texts[0])
		}
	}
}

// codeOf returns the module of a script as the compiler gets it, without its data.
func codeOf(t *testing.T, name, text string) []byte {
	t.Helper()
	wasm, err := Expand(read(t, name, text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := wasmbin.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := wasmbin.Check(b, wasmbin.Limits{Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	code, _, err := rewrite.Rewrite(checked, rewrite.Options{Meter: true, Snapshot: true, Depth: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestExpand_leavesOtherModules(t *testing.T) {
	if got, err := Expand(empty); err != nil || !bytes.Equal(got, empty) {
		t.Errorf("got %q, %v, want the same bytes", got, err)
	}
}

// Each error of a script says where it is.
func TestRead_errorsHaveAPlace(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"syntax":        {[]string{"a.ts", "let x = 1;\nlet y = = 2;"}, `a.ts:2:9: Unexpected "="`},
		"two":           {[]string{"a.ts", "import './b';\nimport './c';"}, `a.ts:1:8: there is no "./b" (and 1 more)`},
		"package":       {[]string{"a.ts", "import 'left-pad';"}, `a.ts:1:8: there is no "left-pad": it is looked for in node_modules beside the script, and modules of Node itself are not offered`},
		"node":          {[]string{"a.js", "import fs from 'node:fs';"}, `a.js:1:16: there is no "node:fs"`},
		"in an import":  {[]string{"a.ts", "import './b'", "b.ts", "let x ="}, `b.ts:1:8: Unexpected end of file`},
		"unknown type":  {[]string{"a.ts", "import './b.css'", "b.css", "a {}"}, "b.css:1:"},
		"brackets":      {[]string{"a.js", "\n" + strings.Repeat("(", 5000)}, "a.js: 2:2001: more than 2000 brackets are open here"},
		"operators":     {[]string{"a.js", strings.Repeat("!", maxFile-1) + "1"}, "a.js: 1:65537: more than 64 KiB without a semicolon"},
		"arrows":        {[]string{"a.js", strings.Repeat("()=>", maxFile/4-1) + "1"}, "more than 64 KiB without a semicolon"},
		"large":         {[]string{"a.js", strings.Repeat("/", 20<<20)}, "too large: a source file has at most 512 KiB"},
		"large imports": {largeImports(), "too large: a script and its imports have at most 16 MiB together"},
	} {
		_, _, err := Read(write(t, c.files...))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// largeImports returns a script whose imports are over the limit together.
func largeImports() []string {
	files := []string{"a.js", ""}
	for i := range 40 {
		files[1] += fmt.Sprintf("import './b%d';\n", i)
		files = append(files, fmt.Sprintf("b%d.js", i), strings.Repeat("//"+strings.Repeat("x", 1021)+";\n", maxFile>>10)[:maxFile])
	}
	return files
}

// Only files below the folder of the script are read, by any path.
func TestRead_staysInTheFolder(t *testing.T) {
	outside := write(t, "secret.js", "export default 'secret'")
	for _, from := range []string{outside, "./link.js", "../" + filepath.Base(filepath.Dir(outside)) + "/secret.js"} {
		path := write(t, "a.js", fmt.Sprintf("import s from %q; s;", filepath.ToSlash(from)))
		if err := os.Symlink(outside, filepath.Join(filepath.Dir(path), "link.js")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read(path); err == nil {
			t.Errorf("%s: got no error, want one for a file outside of the folder", from)
		}
	}
}

// A package in node_modules is no way out of the folder either: neither as a link, nor by its main file.
func TestRead_packagesStayInTheFolder(t *testing.T) {
	outside := write(t, "secret.js", "export default 'secret'", "package.json", `{"main":"secret.js"}`)
	path := write(t, "a.js", "", "node_modules/file/package.json", `{"main":"main.js"}`,
		"node_modules/up/package.json", fmt.Sprintf(`{"main":%q}`, "../../../"+filepath.Base(filepath.Dir(outside))+"/secret.js"))
	modules := filepath.Join(filepath.Dir(path), "node_modules")
	for link, to := range map[string]string{"folder": filepath.Dir(outside), "file/main.js": outside} {
		if err := os.Symlink(to, filepath.Join(modules, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"folder", "file", "up", "folder/secret.js"} {
		if err := os.WriteFile(path, []byte("import s from '"+name+"'; globalThis.s = s;"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), "outside of the folder") && !strings.Contains(err.Error(), "there is no") {
			t.Errorf("%s: got %v, want an error for a file outside of the folder", name, err)
		}
	}
}

// The declarations for editors have the names that scripts can import, and the npm package has the same.
func TestTypes_haveTheNamesOfTheLibrary(t *testing.T) {
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^  export (?:function|const|class) (\w+)`).FindAllStringSubmatch(Types(), -1) {
		if !slices.Contains(got, m[1]) {
			got = append(got, m[1])
		}
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(libraryNames))
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, part := range map[string]string{"index.d.ts": Types(), "index.js": strings.Join(libraryNames[:13], ", ")} {
		text, err := os.ReadFile(filepath.Join("..", "..", "pdk", "ts", name))
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("pdk/ts/%s: got other contents, %v, want those of registry/script/types", name, err)
		}
	}
}

func TestDifference_isReadable(t *testing.T) {
	before := &Source{Entry: "a.ts", Files: []File{{Path: "a.ts", Text: "1\n2\n3\n4\n5\n6\n7\n8\n"}, {Path: "node_modules/@x/y/i.js", Text: "a\n"}, {Path: "same.ts", Text: "x"}}}
	after := &Source{Entry: "a.ts", Files: []File{{Path: "a.ts", Text: "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n"}, {Path: "node_modules/@x/y/i.js", Text: "b\nc\n"}, {Path: "same.ts", Text: "x"}}}
	var got strings.Builder
	for _, c := range Difference(before, after) {
		fmt.Fprintf(&got, "%s +%d -%d:", c.Path, c.Added, c.Gone)
		for _, l := range c.Lines {
			fmt.Fprintf(&got, " %s%s", strings.Trim(string(l.Sign), "\x00"), l.Text)
		}
		got.WriteByte('\n')
	}
	want := "a.ts +2 -1:  1 -2 +two  3  4   7  8 +9\nnode_modules/@x/y +2 -1:\n"
	if got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
	if all := Difference(nil, after); len(all) != 3 || all[0].Added != 9 || all[0].Gone != 0 {
		t.Errorf("got %+v, want all lines of 3 files as new", all)
	}
}
