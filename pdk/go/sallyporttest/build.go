package sallyporttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Build builds the package in dir as a release build of a plugin, and returns the module. The test fails if the
// package does not build, if the module lacks an export that the host requires, or if it imports modules other than
// sallyport and wasi_snapshot_preview1.
func Build(t testing.TB, dir string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plugin.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := readModule(wasm)
	if err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for _, name := range m.imports {
		if name != "sallyport" && name != "wasi_snapshot_preview1" {
			t.Errorf("the plugin imports %s", name)
		}
	}
	for _, name := range []string{"_initialize", "mcp_handle", "memory"} {
		if !slices.Contains(m.exports, name) {
			t.Errorf("the plugin does not export %s", name)
		}
	}
	return wasm
}

// module is the checked part of a module.
type module struct {
	imports []string // imported modules, without duplicates
	exports []string
}

// Sections of a WebAssembly module that are read.
const (
	importSection = 2
	exportSection = 7
)

var errModule = errors.New("not a WebAssembly module")

func readModule(wasm []byte) (m module, err error) {
	r := reader{bytes.NewReader(wasm), nil}
	if !bytes.HasPrefix(wasm, []byte("\x00asm\x01\x00\x00\x00")) {
		return m, errModule
	}
	r.skip(8)
	for r.Len() > 0 && r.err == nil {
		id, body := r.byte(), reader{bytes.NewReader(r.bytes()), nil}
		switch id {
		case importSection:
			m.imports = body.importModules()
		case exportSection:
			m.exports = body.exportNames()
		}
		r.err = errors.Join(r.err, body.err)
	}
	return m, r.err
}

// reader decodes the binary format. Its first error is kept.
type reader struct {
	*bytes.Reader
	err error
}

func (r *reader) byte() byte {
	b, err := r.ReadByte()
	if err != nil {
		r.err = errModule
	}
	return b
}

func (r *reader) number() uint64 {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		r.err = errModule
	}
	return n
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(r.Len()) {
		r.err = errModule
		return nil
	}
	p := make([]byte, n)
	_, _ = r.Read(p) // cannot fail: it has n bytes
	return p
}

func (r *reader) skip(n int) {
	for range n {
		r.byte()
	}
}

// importModules reads a vector of imports. A Go module imports only functions.
func (r *reader) importModules() (names []string) {
	for range r.number() {
		name := string(r.bytes())
		r.bytes()  // name of the function
		r.byte()   // kind
		r.number() // type
		if r.err != nil {
			return names
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (r *reader) exportNames() (names []string) {
	for range r.number() {
		names = append(names, string(r.bytes()))
		r.byte()   // kind
		r.number() // index
		if r.err != nil {
			return names
		}
	}
	return names
}
