package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// guest is a plugin encoded byte by byte: it may make one host call, then gives one answer.
type guest struct {
	manifest string // the custom section; "" is none
	answer   string // written to stream 1
	ask      string // a request for sallyport.call before the answer; "" is none
	trap     bool   // traps in place of an answer
	stderr   string // written to descriptor 2 first
	pad      int    // size of an unused custom section, in bytes
	imports  string // one more import, module and name
}

// tools returns a manifest with tools of these names.
func tools(names ...string) string {
	list := ""
	for i, n := range names {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf(`{"name":%q,"description":"does %s","inputSchema":{"type":"object"}}`, n, n)
	}
	return `{"name":"guest","tools":[` + list + `]}`
}

// says returns a tool result with one text.
func says(text string) string {
	return `{"result":{"content":[{"type":"text","text":` + string(jsonraw.AppendString(nil, text)) + `}]}}`
}

const (
	guestAnswer = 0     // offset of the answer in memory
	guestAsk    = 32768 // offset of the request
	guestErr    = 49152 // offset of the text for stderr, after its iovec
)

// wasm encodes the guest.
func (g guest) wasm() []byte {
	var m wasmtest.Module
	i32 := func(n int) []byte { return []byte{wasmtest.I32, wasmtest.I32, wasmtest.I32, wasmtest.I32}[:n] }
	write := m.Import("sallyport", "write", i32(3), i32(1))
	call := m.Import("sallyport", "call", i32(2), []byte{wasmtest.I64})
	fdWrite := m.Import("wasi_snapshot_preview1", "fd_write", i32(4), i32(1))
	if g.imports != "" {
		m.Import("nowhere", g.imports, i32(1), i32(1))
	}
	m.Memory(1, wasmtest.None)
	var code [][]byte
	calls := func(fn uint32, args ...int) {
		for _, n := range args {
			code = append(code, wasmtest.I32Const(int32(n)))
		}
		code = append(code, wasmtest.Call(fn), wasmtest.Drop)
	}
	if g.stderr != "" {
		calls(fdWrite, 2, guestErr, 1, guestErr+8)
	}
	if g.ask != "" {
		calls(call, guestAsk, len(g.ask))
	}
	if g.trap {
		code = append(code, wasmtest.Unreachable)
	}
	calls(write, 1, guestAnswer, len(g.answer))
	m.Export("mcp_handle", m.Func(i32(1), i32(1), nil, append(code, wasmtest.I32Const(0))...))
	m.ExportRaw("memory", 2, 0)
	m.Data(guestAnswer, []byte(g.answer))
	m.Data(guestAsk, []byte(g.ask))
	m.Data(guestErr, []byte(string([]byte{8, 0xc0, 0, 0, byte(len(g.stderr)), byte(len(g.stderr) >> 8), 0, 0})+g.stderr))
	if g.pad > 0 {
		m.Custom("pad", g.padding())
	}
	if g.manifest != "" {
		m.Custom(wasmbin.ManifestSection, []byte(g.manifest))
	}
	return m.Bytes()
}

// padding returns bytes that are unique to this guest.
func (g guest) padding() []byte {
	pad := make([]byte, g.pad)
	for i := range pad {
		pad[i] = byte(i * 7 >> 3)
	}
	copy(pad, g.manifest+g.answer)
	return pad
}

// write writes the guest to a folder atomically, and returns its path.
func (g guest) write(t testing.TB, dir, name string) string {
	t.Helper()
	return writeFile(t, dir, name, g.wasm())
}

func writeFile(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	temp := filepath.Join(dir, ".new-"+name)
	if err := os.WriteFile(temp, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, path); err != nil {
		t.Fatal(err)
	}
	return path
}
