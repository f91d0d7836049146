//go:build programs && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// examples returns the folder of a library's examples.
func examples(t *testing.T, language string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "pdk", language, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// cFlags are those of a plugin in C without a C library; a warning is an error.
var cFlags = []string{"--target=wasm32", "-O2", "-nostdlib", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-missing-field-initializers", "-Wl,--no-entry,--strip-all"}

// TestPrograms_scenarioOfC plays the scenario with the library of C, compiled without a C library, with wasi-libc, and as C++.
func TestPrograms_scenarioOfC(t *testing.T) {
	dir := examples(t, "c")
	for name, line := range map[string][]string{
		"alone": append([]string{"clang"}, cFlags...),
		"libc":  {"clang", "--target=wasm32-wasi", "-mexec-model=reactor", "-O2", "-Werror", "-Wl,--strip-all"},
		"c++":   append([]string{"clang", "-x", "c++", "-std=c++20", "-Wno-c99-designator"}, cFlags...),
	} {
		t.Run(name, func(t *testing.T) {
			wasm := filepath.Join(t.TempDir(), "scenario.wasm")
			do(t, dir, nil, append(line, "-I..", "-o", wasm, "scenario.c")...)
			playScenario(t, wasm)
		})
	}
}

// TestPrograms_scenarioOfRust plays the scenario with the library of Rust, compiled by Debian's compiler without any crate.
func TestPrograms_scenarioOfRust(t *testing.T) {
	out := t.TempDir()
	do(t, filepath.Dir(examples(t, "rust")), []string{"RUSTC=/usr/bin/rustc", "RUSTDOC=/usr/bin/rustdoc", "RUSTFLAGS=-Dwarnings", "CARGO_TARGET_DIR=" + out},
		"/usr/bin/cargo", "build", "--quiet", "--offline", "--release", "--example", "scenario", "--target", "wasm32-unknown-unknown")
	playScenario(t, filepath.Join(out, "wasm32-unknown-unknown", "release", "examples", "scenario.wasm"))
}

// TestPrograms_rustLibraryPassesItsOwnTests runs them natively, with those of its documentation.
func TestPrograms_rustLibraryPassesItsOwnTests(t *testing.T) {
	do(t, filepath.Dir(examples(t, "rust")), []string{"RUSTC=/usr/bin/rustc", "RUSTDOC=/usr/bin/rustdoc", "CARGO_TARGET_DIR=" + t.TempDir()},
		"/usr/bin/cargo", "test", "--quiet", "--offline")
}

// withZig puts the compiler of Zig first on the PATH, with caches that the tests share.
func withZig(t *testing.T) {
	t.Helper()
	zig, err := filepath.Abs(filepath.Join("..", "..", "build", "zig"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(zig, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("ZIG_GLOBAL_CACHE_DIR", filepath.Join(zig, "cache"))
	t.Setenv("ZIG_LOCAL_CACHE_DIR", filepath.Join(zig, "cache"))
}

// withTinyGo puts TinyGo first on the PATH.
func withTinyGo(t *testing.T) {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", "build", "tinygo", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// TestPrograms_scenarioOfTinyGo plays the scenario with the library of Go, compiled by TinyGo, without and with goroutines.
func TestPrograms_scenarioOfTinyGo(t *testing.T) {
	withTinyGo(t)
	dir := filepath.Dir(examples(t, "go"))
	for _, scheduler := range []string{"none", "asyncify"} {
		t.Run(scheduler, func(t *testing.T) {
			wasm := filepath.Join(t.TempDir(), "scenario.wasm")
			do(t, dir, nil, "tinygo", "build", "-target=wasip1", "-buildmode=c-shared", "-scheduler="+scheduler, "-no-debug", "-o", wasm, "./examples/scenario")
			playScenario(t, wasm)
		})
	}
}

// TinyGo 0.39 cannot encode or decode JSON in a module that has errors.As, as docs/languages.md says: the library has a
// function of its own in its place, which can go when this fails.
func TestPrograms_tinyGoHasNoErrorsAs(t *testing.T) {
	withTinyGo(t)
	dir := writeFiles(t, "go.mod", "module example.com/as\n\ngo 1.25.0\n\nrequire github.com/sallyport-mcp/sallyport/pdk/go v0.0.0\n\n"+
		"replace github.com/sallyport-mcp/sallyport/pdk/go => "+filepath.Dir(examples(t, "go"))+"\n",
		"main.go", `package main

import (
	"encoding/json"
	"errors"
	"io/fs"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type none struct{}

var plugin = sallyport.New("as", "1", sallyport.Tool("as", "", func(*sallyport.Call, none) (string, error) {
	var e *fs.PathError
	if !errors.As(fs.ErrExist, &e) {
		return "no path", json.Unmarshal([]byte("{}"), &map[string]any{})
	}
	return "", nil
}))

func init() { plugin.Serve() }

func main() {}
`)
	do(t, dir, nil, "tinygo", "build", "-target=wasip1", "-buildmode=c-shared", "-scheduler=none", "-no-debug", "-o", "as.wasm", ".")
	out, err := program(t, "", "call", filepath.Join(dir, "as.wasm"), "as").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "unimplemented: AssignableTo with interface") {
		t.Errorf("got %v %s, want a panic of encoding/json", err, out)
	}
}

// withAssemblyScript puts the compiler of AssemblyScript first on the PATH.
func withAssemblyScript(t *testing.T) {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", "build", "assemblyscript", "node_modules", ".bin"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// TestPrograms_scenarioOfAssemblyScript plays the scenario with the library of AssemblyScript.
func TestPrograms_scenarioOfAssemblyScript(t *testing.T) {
	withAssemblyScript(t)
	wasm := filepath.Join(t.TempDir(), "scenario.wasm")
	do(t, filepath.Dir(examples(t, "assemblyscript")), nil, "asc", "examples/scenario.ts", "--outFile", wasm)
	playScenario(t, wasm)
}

// TestPrograms_valuesOfAssemblyScript makes, reads and writes values: numbers keep their digits, and a thrown error is logged.
func TestPrograms_valuesOfAssemblyScript(t *testing.T) {
	withAssemblyScript(t)
	dir := t.TempDir()
	do(t, filepath.Dir(examples(t, "assemblyscript")), nil, "asc", "testdata/values.ts", "--outFile", filepath.Join(dir, "values.wasm"))
	shell := shellIn(t, dir)
	for number, want := range map[string]string{"-1.25e3": `"int":-1250,"num":-1250`, "9007199254740993": `"int":9007199254740993,"num":9007199254740992`, "0.1": `"int":0,"num":0.1`} {
		out := shell(`sallyport call values.wasm p '{"i":` + number + `,"v":{"a":[1,2.50,"\u00e9\ud83d\ude00\/\b\f","\ud800"],"":{},"b":2}}' --text`)
		const numbers = `{"n":[0,-1.5,0.1,123456.789,4503599627370496,null,null,-9223372036854775807],"x":"again","y":[1],`
		const v = `"same":{"a":[1,2.50,"é😀/\u0008\u000c","` + "\ufffd" + `"],"":{},"b":2},"bad":true,`
		wantInOrder(t, number, out, []string{numbers, v, want, `"d":1.5}`})
	}
	wantInOrder(t, "thrown", shell("sallyport call values.wasm thrown 2>&1"), []string{"thrown on purpose (testdata/values.ts:18:3)"})
	wantInOrder(t, "random", shell("sallyport call values.wasm random --text"), []string{"true"})
}

// TestPrograms_scenarioOfZig plays the scenario with the library of Zig, compiled by the newest compiler and by the oldest that
// it supports, without and with the checks.
func TestPrograms_scenarioOfZig(t *testing.T) {
	withZig(t)
	dir := filepath.Dir(examples(t, "zig"))
	for compiler, mode := range map[string]string{"zig": "ReleaseSmall", "zig-oldest": "ReleaseSafe"} {
		t.Run(compiler, func(t *testing.T) {
			wasm := filepath.Join(t.TempDir(), "scenario.wasm")
			do(t, dir, nil, compiler, "build-exe", "-target", "wasm32-freestanding", "-O", mode, "-fno-entry", "-rdynamic", "-fstrip",
				"--dep", "sallyport", "-Mroot=examples/scenario.zig", "-Msallyport=src/sallyport.zig", "-femit-bin="+wasm)
			playScenario(t, wasm)
		})
	}
}

// TestPrograms_zigLibraryPassesItsOwnTests runs them natively.
func TestPrograms_zigLibraryPassesItsOwnTests(t *testing.T) {
	withZig(t)
	do(t, filepath.Dir(examples(t, "zig")), nil, "zig", "test", "src/library_test.zig")
}

// TestPrograms_zigTypesThatDoNotFitAreErrorsOfTheCompiler compiles plugins that the library refuses in a sentence.
func TestPrograms_zigTypesThatDoNotFitAreErrorsOfTheCompiler(t *testing.T) {
	withZig(t)
	library := filepath.Join(filepath.Dir(examples(t, "zig")), "src", "sallyport.zig")
	for source, want := range map[string]string{
		"fn f(_: *sp.Call, _: struct { n: *u8 }) ![]const u8 { return \"\"; }":                                    "*u8 has no JSON Schema: use a struct, a slice,",
		"fn f(_: *sp.Call, _: struct { n: u8, pub const about = .{ .m = \"?\" }; }) ![]const u8 { return \"\"; }": "describes no field",
		"fn f(_: u8) ![]const u8 { return \"\"; }":                                                                "want a function of a *sallyport.Call",
		"fn f(_: *sp.Call) !u8 { return 1; }":                                                                     "a tool returns a text, a Content, a slice of Content, a struct or a Value, but got u8",
	} {
		file := filepath.Join(t.TempDir(), "wrong.zig")
		text := "const sp = @import(\"sallyport\");\n" + source + "\ncomptime {\n    sp.plugin(\"p\", \"1\", .{sp.tool(\"f\", \"\", f)});\n}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("zig", "build-exe", "-target", "wasm32-freestanding", "-fno-entry", "-fno-emit-bin", "--dep", "sallyport", "-Mroot="+file, "-Msallyport="+library).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "error: sallyport: ") || !strings.Contains(string(out), want) {
			t.Errorf("%s: got %v, %s, want %q", source, err, out, want)
		}
	}
}

// TestPrograms_compiledLanguagesAreAsThePageSays runs its blocks with the toolchains of Debian.
func TestPrograms_compiledLanguagesAreAsThePageSays(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:"+os.Getenv("PATH"))
	withZig(t)
	withAssemblyScript(t)
	withTinyGo(t)
	_, page, found := strings.Cut(pageOf(t, "docs/languages.md"), compiledLanguages)
	if !found {
		t.Fatalf("got no section %q, want one", compiledLanguages)
	}
	runBlocks(t, page)
}

// TestPrograms_readmesOfLibrariesRun runs the blocks of the page of each library that has its toolchain from make.
func TestPrograms_readmesOfLibrariesRun(t *testing.T) {
	withZig(t)
	withAssemblyScript(t)
	for _, language := range []string{"zig", "assemblyscript"} {
		t.Run(language, func(t *testing.T) {
			library := filepath.Dir(examples(t, language))
			runBlocks(t, strings.ReplaceAll(pageOf(t, filepath.Join("pdk", language, "README.md")), "/path/to/sallyport", filepath.Dir(filepath.Dir(library))))
		})
	}
}

// TestPrograms_newProjectsBuildAndAreSmall builds the projects of sallyport new.
func TestPrograms_newProjectsBuildAndAreSmall(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:"+os.Getenv("PATH"))
	withZig(t)
	withAssemblyScript(t)
	withTinyGo(t)
	dir := t.TempDir()
	shell := shellIn(t, dir)
	list := strings.Join(strings.Fields(shell("sallyport new --list")), " ")
	wantInOrder(t, "list", list, []string{"assemblyscript ready", "c ready", "rust ready", "tinygo ready", "zig ready"})
	for lang, limit := range map[string]int64{"c": 30_000, "rust": 100_000, "zig": 50_000, "assemblyscript": 50_000, "tinygo": 400_000} {
		wantInOrder(t, lang, shell("sallyport new of_"+lang+" --lang "+lang+" && make -C of_"+lang+" test && echo passed"), []string{"passed"})
		if info, err := os.Stat(filepath.Join(dir, "of_"+lang, "of_"+lang+".wasm")); err != nil || info.Size() > limit {
			t.Errorf("%s: got %v, %v, want at most %d bytes", lang, info, err, limit)
		}
	}
}

// TestPrograms_valuesOfC makes, copies, reads and writes values in C: numbers keep their digits, and a value may be in two lists.
func TestPrograms_valuesOfC(t *testing.T) {
	dir := t.TempDir()
	source, err := filepath.Abs(filepath.Join("..", "..", "pdk", "c", "testdata", "values.c"))
	if err != nil {
		t.Fatal(err)
	}
	do(t, dir, nil, append(append([]string{"clang"}, cFlags...), "-I"+filepath.Dir(filepath.Dir(source)), "-o", "values.wasm", source)...)
	shell := shellIn(t, dir)
	const numbers = `"y":[1,2],"z":[1,1,1],"n":[0,-1.5,0.1,1e21,-25e-11,123456.789,1000000000000000,4503599627370496,0.3333333333333333,100.25,0.00001],`
	for number, want := range map[string]string{"-1.25e3": `"int":-1250,"num":-1250`, "9007199254740993": `"int":9007199254740993,"num":9007199254740992`, "0.1": `"int":0,"num":0.1`} {
		out := shell(`sallyport call values.wasm p '{"i":` + number + `,"v":{"a":[1,"\u00e9\ud83d\ude00\/\b\f","\ud800"],"":{}}}' --text`)
		const v = `{"a":[1,"é😀/\u0008\u000c","` + "\ufffd" + `"],"":{}}`
		wantInOrder(t, number, out, []string{numbers, `"same":` + v + `,"again":` + v, `"f":"1.5|inf|-7%|x||9",`, want})
	}
}
