package main

import (
	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// describing returns a module that answers plugin/describe with these bytes.
func describing(answer string) *wasmtest.Module {
	var m wasmtest.Module
	const i32 = wasmtest.I32
	write := m.Import("sallyport", "write", []byte{i32, i32, i32}, []byte{i32})
	pages := len(answer)>>16 + 2
	m.Memory(pages, pages)
	m.Data(16, []byte(answer))
	m.Export("mcp_handle", m.Func([]byte{i32}, []byte{i32}, nil,
		wasmtest.I32Const(1), wasmtest.I32Const(16), wasmtest.I32Const(int32(len(answer))), wasmtest.Call(write), wasmtest.Drop, wasmtest.I32Const(0)))
	return &m
}
