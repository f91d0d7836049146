//go:build programs && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// markdown is the input of both.
const markdown = "# Größe\n\n1. *a*\n2. [b](<c d> \"e\")\n\n> `f` -- \"g\"...\n\n| h | i |\n|---|---|\n| ~~j~~ | k[^1] |\n\n[^1]: <b>l</b>\n"

// debianPrograms are programs in other languages: the native ones are Debian's packages, and the plugins are built here
// of the same sources.
var debianPrograms = []struct {
	name, native string
	build        func(t *testing.T) (wasm string)
	cases        []programCase
}{
	{"cmark", "cmark", buildC, []programCase{
		{tool: "render", args: map[string]any{"markdown": markdown}, stdin: markdown},
		{tool: "render", args: map[string]any{"markdown": markdown, "format": "latex", "width": 20}, line: []string{"--to", "latex", "--width", "20"}, stdin: markdown},
		{tool: "render", args: map[string]any{"markdown": markdown, "format": "xml", "positions": true}, line: []string{"--to", "xml", "--sourcepos"}, stdin: markdown},
		{tool: "render", args: map[string]any{"markdown": markdown, "smart": true, "unsafe": true}, line: []string{"--smart", "--unsafe"}, stdin: markdown},
		{tool: "render", args: map[string]any{"markdown": strings.Repeat("> ", 500) + strings.Repeat("*a **b** `c`*\n", 5000)}, stdin: strings.Repeat("> ", 500) + strings.Repeat("*a **b** `c`*\n", 5000)},
	}},
	{"pulldown", "pulldown-cmark", buildRust, []programCase{
		{tool: "render", args: map[string]any{"markdown": markdown}, stdin: markdown},
		{tool: "render", args: map[string]any{"markdown": markdown, "tables": true, "footnotes": true, "strikethrough": true}, line: []string{"-T", "-F", "-S"}, stdin: markdown},
		{tool: "render", args: map[string]any{"markdown": markdown, "smart": true}, line: []string{"-P"}, stdin: markdown},
		{tool: "events", args: map[string]any{"markdown": "# Größe\n\n- a\n- *b*\n"}, line: []string{"-e"}, stdin: "# Größe\n\n- a\n- *b*\n"},
		{tool: "render", args: map[string]any{"markdown": strings.Repeat("- [ ] a\n  1. b\n", 3000)}, stdin: strings.Repeat("- [ ] a\n  1. b\n", 3000)},
	}},
}

// TestPrograms_inOtherLanguagesEqualTheirNativeSelves wraps a program in C and one in Rust.
func TestPrograms_inOtherLanguagesEqualTheirNativeSelves(t *testing.T) {
	for _, p := range debianPrograms {
		t.Run(p.name, func(t *testing.T) {
			native, err := exec.LookPath(p.native)
			if err != nil {
				t.Fatal(err)
			}
			wasm := filepath.Join(t.TempDir(), p.name+".wasm")
			if err := os.Rename(p.build(t), wasm); err != nil {
				t.Fatal(err)
			}
			playCases(t, p.name, wasm, native, p.cases)
		})
	}
}

// do runs a command of a build.
func do(t *testing.T, dir string, env []string, line ...string) {
	t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, text)
	}
}

// buildC builds Debian's source package of cmark for WASI. make programs fetches it.
func buildC(t *testing.T) string {
	sources, err := filepath.Glob("../../build/programs/cmark_*.dsc")
	if err != nil || len(sources) != 1 {
		t.Fatalf("got source packages %v, %v, want one of cmark", sources, err)
	}
	dir := t.TempDir()
	source, out := filepath.Join(dir, "source"), filepath.Join(dir, "out")
	do(t, "", nil, "dpkg-source", "--no-check", "-x", sources[0], source)
	do(t, dir, nil, "cmake", "-S", source, "-B", out, "-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_C_COMPILER=clang", "-DCMAKE_C_COMPILER_TARGET=wasm32-wasi",
		"-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", "-DCMAKE_BUILD_TYPE=Release", "-DCMARK_TESTS=OFF", "-DCMARK_SHARED=OFF")
	do(t, dir, nil, "cmake", "--build", out, "--target", "cmark_exe")
	return filepath.Join(out, "src", "cmark")
}

// buildRust builds Debian's source package of pulldown-cmark for WASI, with Debian's compiler and crates.
func buildRust(t *testing.T) string {
	const crates = "/usr/share/cargo/registry"
	mains, err := filepath.Glob(crates + "/pulldown-cmark-*/src/main.rs")
	if err != nil || len(mains) != 1 {
		t.Fatalf("got %v, %v in %s, want one main function", mains, err, crates)
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "Cargo.toml"), []byte("[package]\nname = \"cli\"\nversion = \"0.0.0\"\nedition = \"2021\"\n"+
		"[[bin]]\nname = \"pulldown\"\npath = \""+mains[0]+"\"\n[dependencies]\npulldown-cmark = \"*\"\ngetopts = \"*\"\n"))
	if err := os.Mkdir(filepath.Join(dir, ".cargo"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, ".cargo", "config.toml"), []byte("[source.crates-io]\nreplace-with = \"debian\"\n[source.debian]\ndirectory = \""+crates+"\"\n"))
	do(t, dir, []string{"RUSTC=/usr/bin/rustc", "CARGO_TARGET_WASM32_WASI_LINKER=wasm-ld"},
		"/usr/bin/cargo", "build", "--offline", "--release", "--target", "wasm32-wasi")
	return filepath.Join(dir, "target", "wasm32-wasi", "release", "pulldown.wasm")
}
