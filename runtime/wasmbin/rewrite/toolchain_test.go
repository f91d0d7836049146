package rewrite_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// moduleDir returns the folder of a Go module's sources.
func moduleDir(t testing.TB, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Skip(err)
	}
	return strings.TrimSpace(string(out))
}

// Programs of other compilers have the same output, original and rewritten.
func TestToolchains_programsBehaveTheSame(t *testing.T) {
	guests := filepath.Join(moduleDir(t, "github.com/tetratelabs/wazero"), "imports", "wasi_snapshot_preview1", "testdata")
	for _, name := range []string{"zig-cc", "cargo-wasi", "tinygo", "zig"} {
		wasm, err := os.ReadFile(filepath.Join(guests, name, "wasi.wasm"))
		if err != nil {
			t.Skip(err)
		}
		for _, args := range [][]string{{"stat"}, {"ls", "."}, {"poll"}, {"nothing"}, {}} {
			plain, rewritten := runWASI(t, wasm, guests, args, false), runWASI(t, wasm, guests, args, true)
			if plain != rewritten || plain == "" {
				t.Errorf("%s %q:\n got %s\nwant %s", name, args, rewritten, plain)
			}
		}
	}
}

// runWASI runs a program and returns its output and how it ended.
func runWASI(t *testing.T, wasm []byte, dir string, args []string, rewritten bool) string {
	t.Helper()
	ctx := context.Background()
	h, err := newHost(ctx, wazero.NewRuntimeConfigInterpreter())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(ctx)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, h); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	config := wazero.NewModuleConfig().WithArgs(append([]string{"wasi"}, args...)...).WithStdout(&out).WithStderr(&out).
		WithFSConfig(wazero.NewFSConfig().WithReadOnlyDirMount(dir, "/")).WithStartFunctions()
	m, err := h.InstantiateWithConfig(ctx, wasm, config)
	if rewritten {
		_ = m.Close(ctx)
		g, err := h.load(ctx, wasm, config)
		if err != nil {
			t.Fatal(err)
		}
		m = g.Module
	} else if err != nil {
		t.Fatal(err)
	}
	if _, err := m.ExportedFunction("_start").Call(ctx); err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		out.WriteString(text)
	}
	return out.String()
}

// The guests of other hosts stay valid. The log has the number of those that cannot be reset in place.
func TestToolchains_guestsStayValid(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(moduleDir(t, "github.com/extism/go-sdk"), "wasm", "*.wasm"))
	more, _ := filepath.Glob(filepath.Join(moduleDir(t, "github.com/tetratelabs/wazero"), "imports", "*", "testdata", "*", "*.wasm"))
	checked, references := 0, 0
	for _, file := range append(files, more...) {
		wasm, err := os.ReadFile(file)
		if err != nil || len(wasm) > 600<<10 { // the larger ones come from the same compilers as smaller ones
			continue
		}
		b, err := wasmbin.Read(wasm)
		if err == nil {
			_, err = wasmbin.Check(b, wasmbin.Limits{})
		}
		if err != nil {
			t.Errorf("%s: got %v, want no error", filepath.Base(file), err)
			continue
		}
		out, info, err := rewriteWasm(wasm, both)
		if err == nil {
			err = valid(t, out)
		}
		if err != nil {
			t.Errorf("%s rewritten: got %v, want no error", filepath.Base(file), err)
			continue
		}
		checked++
		if info.References() {
			references++
		}
	}
	t.Logf("%d guests, of which %d change references or drop segments", checked, references)
	if checked == 0 {
		t.Skip("no guests")
	}
}
