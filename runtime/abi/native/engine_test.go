package native_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/runtime/enginetest"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// TestDialect_passesTheEngineTests runs the engine's conformance tests with guests of this dialect.
func TestDialect_passesTheEngineTests(t *testing.T) {
	enginetest.Run(t, enginetest.Subject{
		Dialect: native.New(),
		Host:    native.HostFuncs(),
		Request: runtime.Request{Method: "m"},
		Begin: func(m *w.Module) func(work uint32) {
			write := m.Import("sallyport", "write", []byte{w.I32, w.I32, w.I32}, []byte{w.I32})
			const answer = `{"result":{}}`
			return func(work uint32) {
				m.Data(16, []byte(answer))
				// The machine may have overwritten the response.
				m.Export("mcp_handle", m.Func([]byte{w.I32}, []byte{w.I32}, nil, w.Call(work),
					store(16, answer), rw(write, 1, 16, int32(len(answer))), w.Drop, w.I32Const(0)))
			}
		},
	})
}

// store writes a text, byte by byte.
func store(at int32, text string) []byte {
	var code []byte
	for i := range len(text) {
		code = append(code, w.Code(w.I32Const(at+int32(i)), w.I32Const(int32(text[i])), []byte{0x3a, 0, 0})...)
	}
	return code
}
