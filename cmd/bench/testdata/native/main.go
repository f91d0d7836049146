// Echo answers with the text that it is given, and reads as little JSON as it can, so that what is
// measured is the way in and out.
package main

import (
	"bytes"
	"unsafe"
)

func main() {}

//go:wasmimport sallyport read
func read(stream int32, p unsafe.Pointer, n int32) int32

//go:wasmimport sallyport write
func write(stream int32, p unsafe.Pointer, n int32) int32

const description = `{"result":{"name":"echo","tools":[{"name":"echo","description":"answers with its text",` +
	`"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}}`

//go:wasmexport mcp_handle
func handle(size int32) int32 {
	in := make([]byte, size)
	for at := int32(0); at < size; {
		n := read(0, unsafe.Pointer(&in[at]), size-at)
		if n <= 0 {
			return 1
		}
		at += n
	}
	out := []byte(description)
	if from := bytes.Index(in, []byte(`"text":"`)); from >= 0 {
		to := bytes.IndexByte(in[from+8:], '"')
		out = append([]byte(`{"result":{"content":[{"type":"text","text":"`), in[from+8:from+8+to]...)
		out = append(out, `"}]}}`...)
	}
	for len(out) > 0 {
		n := write(1, unsafe.Pointer(&out[0]), int32(len(out)))
		if n <= 0 {
			return 1
		}
		out = out[n:]
	}
	return 0
}
