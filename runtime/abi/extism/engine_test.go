package extism

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/enginetest"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// TestDialect_passesTheEngineTests runs the engine's conformance tests with guests of this dialect.
func TestDialect_passesTheEngineTests(t *testing.T) {
	enginetest.Run(t, enginetest.Subject{
		Dialect: New(),
		Host:    HostFuncs(),
		Request: runtime.Request{Method: "tools/call"},
		Begin: func(m *w.Module) func(work uint32) {
			alloc := m.Import(Module, "alloc", []byte{w.I64}, []byte{w.I64})
			store := m.Import(Module, "store_u8", []byte{w.I64, w.I32}, nil)
			set := m.Import(Module, "output_set", []byte{w.I64, w.I64}, nil)
			return func(work uint32) {
				m.Export("call_tool", m.Func(nil, []byte{w.I32}, []byte{w.I64}, w.Call(work),
					w.I64Const(2), w.Call(alloc), w.LocalSet(0),
					w.LocalGet(0), w.I32Const('{'), w.Call(store),
					w.LocalGet(0), w.I64Const(1), []byte{0x7c}, w.I32Const('}'), w.Call(store),
					w.LocalGet(0), w.I64Const(2), w.Call(set), w.I32Const(0)))
			}
		},
	})
}
