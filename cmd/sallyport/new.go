package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/pdk"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
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

const (
	// hello is the first tool of a new script.
	hello = "import { tool } from \"sallyport\";\n\n" +
		"tool(\"hello\", \"Greets someone.\", { name: \"string who to greet\" }, ({ name }) => `Hello, ${name}!`);\n"
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
)

// makefile is that of a project: a rule for NAME.wasm, and a test.
const makefile = `SALLYPORT ?= sallyport

NAME.wasm: RULE

test: NAME.wasm
	test "$$($(SALLYPORT) call NAME.wasm hello '{"name": "you"}' --text)" = "Hello, you!"

.PHONY: test
`

const (
	ruleC = `NAME.c sallyport.h
	clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry,--strip-all -o $@ NAME.c`
	ruleRust = `src/lib.rs Cargo.toml
	cargo build --release --target wasm32-unknown-unknown
	cp target/wasm32-unknown-unknown/release/plugin.wasm $@`
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
	nextScript = "try it, then serve it; it is loaded again whenever it is saved:\n  sallyport call DIR/NAME.EXT hello '{\"name\": \"you\"}'\n  sallyport serve DIR\n"
	nextBuilt  = "build and test it, then serve it:\n  make -C DIR test\n  sallyport serve DIR\n"
)

var (
	clang  = tool{program: "clang", install: "apt install clang"}
	wasmLD = tool{program: "wasm-ld", install: "apt install lld"}
	cargo  = tool{program: "cargo", install: "rustup, or apt install cargo"}
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

// projects returns the new projects by language.
func projects() map[string]project {
	rust := pdk.Rust()
	rust["Cargo.toml"], rust["src/lib.rs"] = manifestRust, helloRust
	rust["Makefile"], rust[".gitignore"] = strings.Replace(makefile, "RULE", ruleRust, 1), "/target\n"
	return map[string]project{
		"ts": {files: map[string]string{"NAME.ts": hello, "sallyport.d.ts": script.Types(), "tsconfig.json": compilerOptions},
			next: strings.Replace(nextScript, "EXT", "ts", 1)},
		"js": {files: map[string]string{"NAME.js": hello, "sallyport.d.ts": script.Types(), "jsconfig.json": compilerOptions},
			next: strings.Replace(nextScript, "EXT", "js", 1)},
		"c": {files: map[string]string{"NAME.c": helloC, "sallyport.h": pdk.C(), "Makefile": strings.Replace(makefile, "RULE", ruleC, 1)},
			next: nextBuilt, needs: []tool{clang, wasmLD}},
		"rust": {files: rust, next: nextBuilt, needs: []tool{cargo, rustc}},
	}
}

func newNew(std stdio) *cobra.Command {
	var lang string
	var list bool
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "write a small project in a new folder: a plugin with one tool, in the language of --lang",
		Args: func(c *cobra.Command, args []string) error {
			if list {
				return words(0, 0)(c, args)
			}
			return words(1, 1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			all := projects()
			if list {
				return listLanguages(std, all)
			}
			p, known := all[lang]
			if !known {
				return fmt.Errorf("--lang is one of %s", strings.Join(slices.Sorted(maps.Keys(all)), ", "))
			}
			return writeProject(std, args[0], p)
		},
	}
	c.Flags().StringVar(&lang, "lang", "ts", "`language`: one of those that --list names")
	c.Flags().BoolVar(&list, "list", false, "list the languages, and the tools of each that this machine has")
	return c
}

// listLanguages prints a line for each language, and how to get the tools that are missing.
func listLanguages(std stdio, all map[string]project) error {
	for _, lang := range slices.Sorted(maps.Keys(all)) {
		state := "needs no tools"
		var missing []string
		for _, t := range all[lang].needs {
			state = "ready"
			if path, err := exec.LookPath(t.program); err != nil || t.present != nil && !t.present(path) {
				missing = append(missing, t.program+": "+t.install)
			}
		}
		if len(missing) > 0 {
			state = "missing: " + strings.Join(missing, "; ")
		}
		if _, err := fmt.Fprintf(std.out, "%-5s %s\n", lang, state); err != nil {
			return err
		}
	}
	return nil
}

// writeProject writes a project into a new folder. A folder that exists is left alone.
func writeProject(std stdio, dir string, p project) error {
	name := filepath.Base(dir)
	if err := manifest.CheckName(name); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already", ui.Line(dir))
	} else if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(p.files)) {
		path := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(file, "NAME", name)))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(p.text(file, name)), 0o644); err != nil {
			return err
		}
		if !strings.HasPrefix(file, "sallyport/") {
			fmt.Fprintf(std.out, "wrote %s\n", ui.Line(path))
		}
	}
	_, err := io.WriteString(std.out, strings.NewReplacer("DIR", ui.Line(dir), "NAME", name).Replace(p.next))
	return err
}

// text returns the text of a file for a plugin. The files of a library, which are no part of the project's own, stay.
func (p project) text(file, name string) string {
	if strings.HasPrefix(file, "sallyport") {
		return p.files[file]
	}
	return strings.ReplaceAll(p.files[file], "NAME", name)
}
