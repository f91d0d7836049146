// Echo answers with the text that it is given: a plugin of hyper-mcp's first kind, built with Extism's
// own PDK for Go. It reads as little JSON as it can, so that what is measured is the way in and out.
package main

import (
	"bytes"

	"github.com/extism/go-pdk"
)

func main() {}

//go:wasmexport describe
func describe() int32 {
	pdk.OutputString(`{"tools":[{"name":"echo","description":"answers with its text",` +
		`"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`)
	return 0
}

//go:wasmexport call
func call() int32 {
	in := pdk.Input()
	from := bytes.Index(in, []byte(`"text":"`))
	to := bytes.IndexByte(in[from+8:], '"')
	out := append([]byte(`{"content":[{"type":"text","text":"`), in[from+8:from+8+to]...)
	pdk.Output(append(out, `"}]}`...))
	return 0
}
