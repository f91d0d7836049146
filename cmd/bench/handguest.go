package main

import (
	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// handHead and handTail enclose the text in a request to the handwritten guest.
const (
	handHead = `{"method":"tools/call","params":{"name":"echo","arguments":{"text":"`
	handTail = `"}}}`
)

// handGuest is a native plugin written instruction by instruction, without a language runtime: it answers with the text
// of the request, at its fixed offset. Before that it makes work steps through its memory: each step adds to a word of
// four bytes, and the next word is in the next page.
func handGuest(work int32) []byte {
	const (
		head, tail, request = 1 << 10, 2 << 10, 64 << 10 // offsets
		pages               = 16
		size, step          = 0, 1 // locals
	)
	before, after := `{"result":{"content":[{"type":"text","text":"`, `"}]}}`
	var m w.Module
	i32 := []byte{w.I32}
	three := []byte{w.I32, w.I32, w.I32}
	read := m.Import("sallyport", "read", three, i32)
	write := m.Import("sallyport", "write", three, i32)
	m.Memory(pages, pages)
	m.Data(head, []byte(before))
	m.Data(tail, []byte(after))
	put := func(code ...[]byte) []byte { return w.Code(w.I32Const(1), w.Code(code...), w.Call(write), w.Drop) }
	and := []byte{0x71}
	place := w.Code(w.LocalGet(step), w.I32Const(4096+4), []byte{0x6c}, w.I32Const(1<<16-4), and) // in the first 64 KiB, after the other data
	turn := w.Code(place, place, w.I32Load(8<<16), w.LocalGet(step), w.I32Add, w.I32Store(8<<16),
		w.LocalGet(step), w.I32Const(1), w.I32Add, w.LocalSet(step), w.LocalGet(step), w.I32Const(work), []byte{0x49})
	m.Export("mcp_handle", m.Func(i32, i32, i32,
		w.I32Const(0), w.I32Const(request), w.LocalGet(size), w.Call(read), w.Drop,
		w.LoopVoid, turn, w.BrIf(0), w.End,
		put(w.I32Const(head), w.I32Const(int32(len(before)))),
		put(w.I32Const(int32(request+len(handHead))), w.LocalGet(size), w.I32Const(-int32(len(handHead)+len(handTail))), w.I32Add),
		put(w.I32Const(tail), w.I32Const(int32(len(after)))),
		w.I32Const(0)))
	return m.Bytes()
}

// handRequest is a request in the form that the guest expects.
func handRequest(size int) runtime.Request {
	return runtime.Request{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"text":"` + payload(size) + `"}}`)}
}
