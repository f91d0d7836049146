package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Code that nests without brackets exhausts the stack of the bundler, which ends its process: the host serves on. A
// container of sources gets to the bundler without the checks of a script.
func TestScript_thatExhaustsTheBundlerHarmsNothing(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	deep := "x=" + strings.Repeat("{}**", 100_000) + "1;"
	write("deep.js", []byte(deep))
	raw, err := json.Marshal(script.Source{Entry: "a.js", Files: []script.File{{Path: "a.js", Text: deep}}})
	if err != nil {
		t.Fatal(err)
	}
	container, err := wasmbin.SetCustomSection([]byte("\x00asm\x01\x00\x00\x00"), script.Section, raw)
	if err != nil {
		t.Fatal(err)
	}
	write("packed.wasm", container)
	write("honest.ts", []byte(`import { tool } from "sallyport"; tool("hello", "Greets.", {}, () => "hello");`))

	s := connect(t, "", dir)
	if r := call(t, s, "honest-hello", nil); r.IsError || text(r) != "hello" {
		t.Errorf("got %q, want hello of the script beside", text(r))
	}
	out, _ := program(t, "", "list", dir).CombinedOutput()
	if n := strings.Count(string(out), "the bundler cannot read this script within its limits"); n != 2 {
		t.Errorf("got %s\nwant two plugins that the bundler cannot read", out)
	}
}
