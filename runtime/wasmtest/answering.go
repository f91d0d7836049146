package wasmtest

// Answering returns a native plugin that responds to each request with these bytes.
func Answering(response string) *Module {
	var m Module
	write := m.Import("sallyport", "write", []byte{I32, I32, I32}, []byte{I32})
	pages := len(response)>>16 + 2
	m.Memory(pages, pages)
	m.Data(16, []byte(response))
	m.Export("mcp_handle", m.Func([]byte{I32}, []byte{I32}, nil,
		I32Const(1), I32Const(16), I32Const(int32(len(response))), Call(write), Drop, I32Const(0)))
	return &m
}
