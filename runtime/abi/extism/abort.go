package extism

import (
	"context"
	"encoding/binary"
	"strings"
	"unicode/utf16"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxAbort bounds each of the two texts of an abort, in bytes of guest memory.
const maxAbort = 2 << 10

// abortFunc returns env.abort(message, file, line, column i32), which AssemblyScript calls to trap.
func abortFunc() runtime.HostFunc {
	const i32 = runtime.I32
	return runtime.HostFunc{Module: "env", Name: "abort", Params: []byte{i32, i32, i32, i32},
		Call: func(_ context.Context, mem runtime.Memory, stack []uint64) {
			message, file := abortText(mem, uint32(stack[0])), abortText(mem, uint32(stack[1]))
			fault("the guest gave up: %s at %s:%d:%d", message, file, uint32(stack[2]), uint32(stack[3]))
		}}
}

// noText replaces a text that is empty or out of the guest's memory bounds.
const noText = "(no text)"

// abortText reads a string in AssemblyScript's layout: UTF-16, preceded by its length in bytes.
//
//	ptr-4 ─▶ ┌────────┐ ptr ─▶ ┌──────────────┐
//	         │ length │        │ length bytes │
//	         └────────┘        └──────────────┘
func abortText(mem runtime.Memory, ptr uint32) string {
	if ptr < 4 {
		return noText
	}
	head, ok := mem.Read(ptr-4, 4)
	if !ok {
		return noText
	}
	p, ok := mem.Read(ptr, min(binary.LittleEndian.Uint32(head), maxAbort))
	if !ok || len(p) < 2 {
		return noText
	}
	units := make([]uint16, len(p)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(p[2*i:])
	}
	return strings.ToValidUTF8(string(utf16.Decode(units)), "\uFFFD")
}
