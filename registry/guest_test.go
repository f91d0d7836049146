package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// guest is a plugin made byte by byte: it may ask the host for something, then gives one answer.
type guest struct {
	manifest string // the custom section; "" has none
	answer   string // what it writes to stream 1
	ask      string // a request for sallyport.call before it answers; "" asks nothing
	trap     bool   // traps in place of an answer
	stderr   string // written to descriptor 2 first
	pad      int    // bytes of an unused custom section
	imports  string // one more import, module and name
}

// tools is a manifest with tools of these names.
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

// says is a tool result with one text.
func says(text string) string {
	return `{"result":{"content":[{"type":"text","text":` + string(rawjson.AppendString(nil, text)) + `}]}}`
}

func uleb(n int) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		if n >>= 7; n == 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func sleb(n int) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func str(s string) []byte { return append(uleb(len(s)), s...) }

func section(id byte, body []byte) []byte {
	return append(append([]byte{id}, uleb(len(body))...), body...)
}

// importFunc is an entry of the import section.
func importFunc(module, name string, kind byte) []byte {
	return append(append(str(module), str(name)...), 0, kind)
}

const (
	guestAnswer = 0     // where the answer lies in memory
	guestAsk    = 32768 // where the request lies
	guestErr    = 49152 // where the text for stderr lies, after its iovec
)

// wasm encodes the guest.
func (g guest) wasm() []byte {
	i32 := func(n int) []byte { return append([]byte{0x41}, sleb(n)...) }
	var code []byte
	add := func(parts ...[]byte) {
		for _, p := range parts {
			code = append(code, p...)
		}
	}
	if g.stderr != "" {
		add(i32(2), i32(guestErr), i32(1), i32(guestErr+8), []byte{0x10, 2, 0x1a})
	}
	if g.ask != "" {
		add(i32(guestAsk), i32(len(g.ask)), []byte{0x10, 1, 0x1a})
	}
	if g.trap {
		add([]byte{0x00})
	}
	add(i32(1), i32(guestAnswer), i32(len(g.answer)), []byte{0x10, 0, 0x1a}, i32(0), []byte{0x0b})
	body := append(uleb(0), code...)

	out := []byte("\x00asm\x01\x00\x00\x00")
	out = append(out, section(1, []byte{4,
		0x60, 1, 0x7f, 1, 0x7f, // (i32) -> i32
		0x60, 3, 0x7f, 0x7f, 0x7f, 1, 0x7f, // (i32 i32 i32) -> i32
		0x60, 2, 0x7f, 0x7f, 1, 0x7e, // (i32 i32) -> i64
		0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f, // (i32 i32 i32 i32) -> i32
	})...)
	imports := [][]byte{
		importFunc("sallyport", "write", 1), importFunc("sallyport", "call", 2),
		importFunc("wasi_snapshot_preview1", "fd_write", 3),
	}
	if g.imports != "" {
		imports = append(imports, importFunc("nowhere", g.imports, 0))
	}
	list := uleb(len(imports))
	for _, i := range imports {
		list = append(list, i...)
	}
	out = append(out, section(2, list)...)
	out = append(out, section(3, []byte{1, 0})...)
	out = append(out, section(5, []byte{1, 0, 1})...)
	exports := append([]byte{2}, append(str("mcp_handle"), 0, byte(len(imports)))...)
	exports = append(exports, append(str("memory"), 2, 0)...)
	out = append(out, section(7, exports)...)
	out = append(out, section(10, append([]byte{1}, append(uleb(len(body)), body...)...))...)
	segment := func(at int, data string) []byte {
		s := append([]byte{0}, i32(at)...)
		return append(append(s, 0x0b), str(data)...)
	}
	iovec := string([]byte{8, 0xc0, 0, 0, byte(len(g.stderr)), byte(len(g.stderr) >> 8), 0, 0}) + g.stderr
	data := []byte{3}
	data = append(data, segment(guestAnswer, g.answer)...)
	data = append(data, segment(guestAsk, g.ask)...)
	data = append(data, segment(guestErr, iovec)...)
	out = append(out, section(11, data)...)
	if g.pad > 0 {
		pad := make([]byte, g.pad)
		for i := range pad {
			pad[i] = byte(i * 7 >> 3)
		}
		copy(pad, g.manifest+g.answer) // no two alike
		out = append(out, section(0, append(str("pad"), pad...))...)
	}
	if g.manifest != "" {
		out = append(out, section(0, append(str(wasmbin.ManifestSection), g.manifest...))...)
	}
	return out
}

// write puts the guest into a folder, in one step, and returns its path.
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
