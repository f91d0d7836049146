package runtime

import "context"

// ValueType is the type of a WebAssembly number, as the binary format encodes it.
type ValueType = byte

// The number types of parameters and results of a host function.
const (
	I32 ValueType = 0x7f
	I64 ValueType = 0x7e
	F32 ValueType = 0x7d
	F64 ValueType = 0x7c
)

// HostFunc is one function that a guest may import.
//
// It is stateless: the state of a call is found through ctx (GateFrom and the dialects' own values).
type HostFunc struct {
	Module, Name    string
	Params, Results []ValueType

	// Call runs the function. stack holds the parameters, one value each, and receives the results in the same places.
	// It must not panic for any value a guest can pass; Exit and Abort end the guest. It returns soon after ctx is
	// done.
	Call func(ctx context.Context, mem Memory, stack []uint64)

	// Quick, if not nil, replaces Call in a call for which a dialect attached a value, and depends on that value and
	// the stack only. It must not wait, nor take more than some microseconds: guests of some dialects call such
	// functions for every few bytes.
	Quick func(attached any, stack []uint64)
}

// Memory is a guest's linear memory. Offsets and sizes are in bytes; accesses out of bounds return false.
type Memory interface {
	// Size returns the length of the memory in bytes.
	Size() uint32
	// Read returns a view, not a copy: it is valid until the guest runs again.
	Read(offset, size uint32) ([]byte, bool)
	// Write copies p into the memory, completely or not at all.
	Write(offset uint32, p []byte) bool
}
