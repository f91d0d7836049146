package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/pdk"
	"github.com/sallyport-mcp/sallyport/registry/script"
)

// project is a new project in one language. In its texts and names NAME is that of the plugin.
type project struct {
	files map[string]string // texts by path
	next  string            // how to try it
	needs []tool
}

// tool is a program of a toolchain.
type tool struct {
	program string
	install string                 // how to get it
	present func(path string) bool // more than that the program exists; may be nil
}

// text returns the text of a file for a plugin. The files of a library, which are no part of the project's own, stay.
func (p project) text(file, name string) string {
	if strings.HasPrefix(file, "sallyport") {
		return p.files[file]
	}
	return strings.ReplaceAll(p.files[file], "NAME", name)
}

const (
	// hello is the first tool of a new script.
	hello = "import { tool } from \"sallyport\";\n\n" +
		"tool(\"hello\", \"Greets someone.\", { name: \"string who to greet\" }, ({ name }) => `Hello, ${name}!`);\n"
	helloPython = `from sallyport import tool


@tool
def hello(name: str) -> str:
    """Greets someone.

    Args:
        name: who to greet
    """
    return f"Hello, {name}!"
`
	helloC = `#include "sallyport.h"

static sp_json hello(sp_call *c, sp_json args) { return sp_text(sp_format("Hello, %s!", sp_str(args, "name"))); }

static const sp_field name[] = {{"name", SP_STRING, "who to greet"}, {0}};
static const sp_tool tools[] = {{"hello", "Greets someone.", hello, name}, {0}};
SP_PLUGIN("NAME", "0.1.0", .tools = tools)
`
	helloRust = `use sallyport::*;

tool! {
    /// Greets someone.
    fn hello(/** who to greet */ name: String) -> String { format!("Hello, {}!", name) }
}

plugin!("NAME", "0.1.0", hello());
`
	helloZig = `const sp = @import("sallyport");

fn hello(c: *sp.Call, args: struct { name: []const u8 }) ![]const u8 {
    return c.format("Hello, {s}!", .{args.name});
}

comptime {
    sp.plugin("NAME", "0.1.0", .{sp.tool("hello", "Greets someone.", hello)});
}
`
	helloAssemblyScript = "import { plugin, str, text, tool } from \"../sallyport\";\n\n" +
		"plugin(\"NAME\", \"0.1.0\");\n" +
		"tool(\"hello\", \"Greets someone.\", [str(\"name\", \"who to greet\")], (c) => text(`Hello, ${c.str(\"name\")}!`));\n"
	helloGo = `package main

import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

type person struct {
	Name string ` + "`json:\"name\" doc:\"who to greet\"`" + `
}

func hello(c *sallyport.Call, p person) (string, error) { return "Hello, " + p.Name + "!", nil }

var plugin = sallyport.New("NAME", "0.1.0", sallyport.Tool("hello", "Greets someone.", hello))

func init() { plugin.Serve() }

func main() {}
`
	helloGoTest = `package main

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

func TestHello(t *testing.T) {
	r := sallyporttest.New(t, plugin).Call("hello", map[string]any{"name": "you"})
	if got, want := r.Text(), "Hello, you!"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
`
)

// makefile is that of a project: a rule for NAME.wasm, and a test.
const makefile = `SALLYPORT ?= sallyport

NAME.wasm: RULE

test: NAME.wasm
	$(SALLYPORT) test NAME.wasm

.PHONY: test
`

// makefileOf returns the makefile of a project with its rule, behind lines for variables.
func makefileOf(variables, rule string) string {
	return variables + strings.Replace(makefile, "RULE", rule, 1)
}

// helloCases are the first cases of a project, for sallyport test.
const helloCases = `# sallyport test runs these cases, and sallyport dev runs them after each save.
cases:
  - call: hello
    with: {name: you}
    text: Hello, you!
`

const (
	ruleC = `NAME.c sallyport.h
	clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry,--strip-all -o $@ NAME.c`
	ruleGo = `main.go go.mod
	go mod tidy
	go vet .
	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags='-s -w' -o $@ .`
	ruleTinyGo = `main.go go.mod
	go mod tidy
	go vet .
	$(TINYGO) build -target=wasip1 -buildmode=c-shared -scheduler=none -no-debug -o $@ .`
	ruleRust = `src/lib.rs Cargo.toml
	cargo build --release --target wasm32-unknown-unknown
	cp target/wasm32-unknown-unknown/release/plugin.wasm $@`
	ruleAssemblyScript = `assembly/index.ts asconfig.json
	$(ASC) assembly/index.ts --outFile $@`
	ruleZig = `NAME.zig
	$(ZIG) build-exe -target wasm32-freestanding -O ReleaseSmall -fno-entry -rdynamic -fstrip \
	  --dep sallyport -Mroot=NAME.zig -Msallyport=sallyport/sallyport.zig -femit-bin=$@`
	manifestRust = `[package]
name = "plugin"
version = "0.1.0"
edition = "2021"

[lib]
crate-type = ["cdylib"]

[dependencies]
sallyport = { path = "sallyport" }

[profile.release]
opt-level = "s"
lto = true
codegen-units = 1
panic = "abort"
strip = true
`
)

// compilerOptions are those of an editor's checker: no Node, and the web API for the globals.
const compilerOptions = `{
  "compilerOptions": {
    "target": "ES2023", "module": "ESNext", "moduleResolution": "bundler", "lib": ["ES2023", "DOM", "DOM.Iterable"], "types": [],
    "strict": true, "checkJs": true, "noEmit": true, "allowImportingTsExtensions": true, "resolveJsonModule": true, "skipLibCheck": true
  }
}
`

// nextScript and nextBuilt are what the author of a script, and of a plugin that is built, does next.
const (
	nextScript = "test it, try it, then serve it; it is loaded again whenever it is saved:\n  sallyport test DIR/NAME.EXT\n  sallyport call DIR/NAME.EXT hello '{\"name\": \"you\"}'\n  sallyport serve DIR\n"
	nextBuilt  = "build and test it, then serve it:\n  make -C DIR test\n  sallyport serve DIR\n"
)

var (
	clang  = tool{program: "clang", install: "apt install clang"}
	wasmLD = tool{program: "wasm-ld", install: "apt install lld"}
	golang = tool{program: "go", install: "apt install golang, of 1.25 or later"}
	tinygo = tool{program: "tinygo", install: "its releases, of 0.39 or later"}
	cargo  = tool{program: "cargo", install: "rustup, or apt install cargo"}
	asc    = tool{program: "asc", install: "npm install -g assemblyscript"}
	zig    = tool{program: "zig", install: "its download page, or pip install ziglang and ZIG=python-zig"}
	rustc  = tool{program: "rustc", install: "rustup target add wasm32-unknown-unknown, or apt install libstd-rust-dev-wasm32 lld", present: hasRustTarget}
)

// hasRustTarget reports whether a compiler has the standard library of wasm32-unknown-unknown.
func hasRustTarget(rustc string) bool {
	dir, err := exec.Command(rustc, "--print", "target-libdir", "--target", "wasm32-unknown-unknown").Output()
	if err != nil {
		return false
	}
	_, err = os.Stat(strings.TrimSpace(string(dir)))
	return err == nil
}

// requireGo is the go.mod of a project, up to the folder of the library.
const requireGo = "module example.com/NAME\n\ngo 1.25.0\n\nrequire github.com/sallyport-mcp/sallyport/pdk/go v0.0.0\n\n" +
	"replace github.com/sallyport-mcp/sallyport/pdk/go => "

// goMod returns the go.mod of a project over the library of a clone, in this folder.
func goMod(library string) (string, error) {
	dir, err := filepath.Abs(library)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "sallyporttest")); err != nil {
		return "", fmt.Errorf("--pdk: %s is not the folder pdk/go of Sallyport's repository", ui.Line(library))
	}
	return requireGo + strconv.Quote(dir) + "\n", nil
}

// projects returns the new projects by language.
func projects() map[string]project {
	rust := pdk.Rust()
	rust["Cargo.toml"], rust["src/lib.rs"] = manifestRust, helloRust
	ascFiles, ascOptions := pdk.AssemblyScript()
	ascFiles["assembly/index.ts"], ascFiles["asconfig.json"] = helloAssemblyScript, ascOptions
	ascFiles["Makefile"] = makefileOf("ASC ?= asc\n", ruleAssemblyScript)
	zigFiles := pdk.Zig()
	zigFiles["NAME.zig"], zigFiles["Makefile"] = helloZig, makefileOf("ZIG ?= zig\n", ruleZig)
	zigFiles[".gitignore"] = "/.zig-cache\n"
	goFiles := pdk.Go()
	goFiles["go.mod"], goFiles["main.go"], goFiles["main_test.go"] = requireGo+"./sallyport\n", helloGo, helloGoTest
	goFiles["Makefile"] = makefileOf("", ruleGo)
	tinyFiles := maps.Clone(goFiles)
	tinyFiles["Makefile"] = makefileOf("TINYGO ?= tinygo\n", ruleTinyGo)
	rust["Makefile"], rust[".gitignore"] = makefileOf("", ruleRust), "/target\n"
	all := map[string]project{
		"ts": {files: map[string]string{"NAME.ts": hello, "sallyport.d.ts": script.Types(), "tsconfig.json": compilerOptions},
			next: strings.ReplaceAll(nextScript, "EXT", "ts")},
		"js": {files: map[string]string{"NAME.js": hello, "sallyport.d.ts": script.Types(), "jsconfig.json": compilerOptions},
			next: strings.ReplaceAll(nextScript, "EXT", "js")},
		"python": {files: map[string]string{"NAME.py": helloPython, "sallyport.pyi": script.PythonTypes()},
			next: strings.ReplaceAll(nextScript, "EXT", "py")},
		"c": {files: map[string]string{"NAME.c": helloC, "sallyport.h": pdk.C(), "Makefile": makefileOf("", ruleC)},
			next: nextBuilt, needs: []tool{clang, wasmLD}},
		"go":             {files: goFiles, next: nextBuilt, needs: []tool{golang}},
		"tinygo":         {files: tinyFiles, next: nextBuilt, needs: []tool{golang, tinygo}},
		"rust":           {files: rust, next: nextBuilt, needs: []tool{cargo, rustc}},
		"assemblyscript": {files: ascFiles, next: nextBuilt, needs: []tool{asc}},
		"zig":            {files: zigFiles, next: nextBuilt, needs: []tool{zig}},
	}
	for _, p := range all {
		p.files["NAME.cases.yaml"] = helloCases
	}
	return all
}
