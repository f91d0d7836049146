package sallyporttest

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

const (
	maxHello      = 3_650_000 // bytes
	maxHelloLines = 30
)

// The smallest plugin has little code and a small module.
func TestBuild_helloIsSmall(t *testing.T) {
	dir := "../examples/hello"
	wasm := Build(t, dir)
	t.Logf("hello is %d bytes", len(wasm))
	if len(wasm) >= maxHello {
		t.Errorf("hello: got %d bytes, want less than %d", len(wasm), maxHello)
	}
	source, err := os.ReadFile(dir + "/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(source, []byte("\n")); n >= maxHelloLines {
		t.Errorf("hello: got %d lines, want less than %d", n, maxHelloLines)
	}
}

func TestReadModule_listsImportsAndExports(t *testing.T) {
	wasm := []byte("\x00asm\x01\x00\x00\x00" +
		"\x02\x0f\x02\x01a\x01f\x00\x00\x01b\x01g\x00\x00" + "\x00\x00" + // two imports, an empty custom section
		"\x07\x05\x01\x01x\x00\x00")
	wasm[9] = byte(len("\x02\x01a\x01f\x00\x00\x01b\x01g\x00\x00"))
	m, err := readModule(wasm)
	if err != nil || !slices.Equal(m.imports, []string{"a", "b"}) || !slices.Equal(m.exports, []string{"x"}) {
		t.Errorf("got %+v, %v; want imports of a and b, export x", m, err)
	}
	for n := range wasm {
		if n == 8 || n == 23 || n == 25 { // complete sections
			continue
		}
		if _, err := readModule(wasm[:n]); err == nil {
			t.Errorf("%d of %d bytes: got no error, want one", n, len(wasm))
		}
	}
}
