package plugin

import (
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// Modules that are not plugins get different errors, since the remedies differ.
func TestDetect_namesTheRemedy(t *testing.T) {
	exporting := func(names ...string) []byte {
		var m wasmtest.Module
		for _, name := range names {
			m.Export(name, m.Func(nil, nil, nil))
		}
		return m.Bytes()
	}
	var extism wasmtest.Module
	extism.Import("extism:host/env", "alloc", nil, nil)
	dialects := []Dialect{{Recognises: native.Recognises, Dialect: native.New()}}
	for name, c := range map[string]struct {
		wasm []byte
		want error
	}{
		"extism":  {extism.Bytes(), errExtism},
		"command": {exporting("_start"), errCommand},
		"nothing": {[]byte(wasmtest.Header), errNoDialect},
		"program": {exporting("_start", "mcp_handle"), errProgram},
		"native":  {exporting("mcp_handle"), nil},
	} {
		b, err := wasmbin.Read(c.wasm)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := detect(b, dialects); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// The command of the error is safe to type: no part of a file's name runs.
func TestProgramError_quotesTheFile(t *testing.T) {
	const path = "/downloads/$(calc) it's.wasm"
	got := named(errCommand, path).Error()
	if want := "sallyport wrap " + shellword.Quoted(path) + " writes a first one"; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
