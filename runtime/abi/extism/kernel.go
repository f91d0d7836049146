package extism

import (
	"context"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// Module is the import module name of the kernel's functions.
const Module = "extism:host/env"

// kernelFunc implements one kernel function.
type kernelFunc func(c *call, stack []uint64)

// kernelFuncs returns the functions that only access the call's shared memory. Invalid offsets are harmless: loads
// return zero, and setters have no effect. Only the 64-bit loads and stores end a guest that leaves the memory, as in
// Extism's Go host.
func kernelFuncs() []runtime.HostFunc {
	const i32, i64 = runtime.I32, runtime.I64
	return []runtime.HostFunc{
		kernel("alloc", []byte{i64}, i64, alloc),
		kernel("free", []byte{i64}, 0, free),
		kernel("length", []byte{i64}, i64, length),
		kernel("length_unsafe", []byte{i64}, i64, length),
		kernel("load_u8", []byte{i64}, i32, load8),
		kernel("load_u64", []byte{i64}, i64, load64),
		kernel("store_u8", []byte{i64, i32}, 0, store8),
		kernel("store_u64", []byte{i64, i64}, 0, store64),
		kernel("input_length", nil, i64, func(c *call, stack []uint64) { stack[0] = c.inputLength }),
		kernel("input_offset", nil, i64, func(c *call, stack []uint64) { stack[0] = c.input }),
		kernel("input_load_u8", []byte{i64}, i32, inputLoad8),
		kernel("input_load_u64", []byte{i64}, i64, inputLoad64),
		kernel("input_set", []byte{i64, i64}, 0, inputSet),
		kernel("output_set", []byte{i64, i64}, 0, outputSet),
		kernel("output_offset", nil, i64, func(c *call, stack []uint64) { stack[0] = c.output }),
		kernel("output_length", nil, i64, func(c *call, stack []uint64) { stack[0] = c.outputLength }),
		kernel("error_set", []byte{i64}, 0, errorSet),
		kernel("error_get", nil, i64, func(c *call, stack []uint64) { stack[0] = c.failure }),
		kernel("memory_bytes", nil, i64, func(c *call, stack []uint64) { stack[0] = c.arena.length }),
		kernel("reset", nil, 0, func(c *call, _ []uint64) { c.reset() }),
	}
}

// kernel wraps a function that needs only the call. Outside a call it returns zero.
func kernel(name string, params []byte, result byte, f kernelFunc) runtime.HostFunc {
	h := hostFunc(Module, name, params, result, func(_ context.Context, c *call, _ runtime.Memory, stack []uint64) { f(c, stack) })
	h.Quick = func(attached any, stack []uint64) {
		if c, ok := attached.(*call); ok {
			f(c, stack)
		} else if result != 0 { // called by a guest of a different dialect
			stack[0] = 0
		}
	}
	return h
}

// callFunc implements one host function that also needs the context and the guest's memory.
type callFunc func(ctx context.Context, c *call, mem runtime.Memory, stack []uint64)

// hostFunc wraps a function that needs a call. Outside a call, as in start-up code, it has no effect and returns zero.
// A result type of 0 means no result.
func hostFunc(module, name string, params []byte, result byte, f callFunc) runtime.HostFunc {
	var results []byte
	if result != 0 {
		results = []byte{result}
	}
	return runtime.HostFunc{Module: module, Name: name, Params: params, Results: results,
		Call: func(ctx context.Context, mem runtime.Memory, stack []uint64) {
			if c := callFrom(ctx); c != nil {
				f(ctx, c, mem, stack)
				return
			}
			if result != 0 {
				stack[0] = 0
			}
		}}
}

// alloc implements alloc(n i64) -> i64: it allocates a block of n bytes; 0 means no room, or that n is 0.
func alloc(c *call, stack []uint64) { stack[0] = c.arena.alloc(stack[0]) }

// free implements free(offset i64). Freeing the input's block also clears the input.
func free(c *call, stack []uint64) { c.free(stack[0]) }

func (c *call) free(offset uint64) {
	if c.arena.release(offset) && offset == c.input {
		c.inputLength = 0
	}
}

// length implements length(offset i64) -> i64: the length of a block, or 0 if there is none at this offset. It also
// implements length_unsafe, whose original trusts a header that the guest may have overwritten.
func length(c *call, stack []uint64) { stack[0] = c.arena.blockLength(stack[0]) }

// load8 implements load_u8(offset i64) -> i32: it reads a byte; 0 out of bounds.
func load8(c *call, stack []uint64) { stack[0] = uint64(c.arena.load8(stack[0])) }

// load64 implements load_u64(offset i64) -> i64: it reads eight bytes, little-endian.
func load64(c *call, stack []uint64) {
	v, ok := c.arena.load64(stack[0])
	if !ok {
		fault("the guest read outside of the shared memory, at offset %d", stack[0])
	}
	stack[0] = v
}

// store8 implements store_u8(offset i64, value i32): it writes a byte; no effect out of bounds.
func store8(c *call, stack []uint64) { c.arena.store8(stack[0], byte(stack[1])) }

// store64 implements store_u64(offset, value i64): it writes eight bytes, little-endian.
func store64(c *call, stack []uint64) {
	if !c.arena.store64(stack[0], stack[1]) {
		fault("the guest wrote outside of the shared memory, at offset %d", stack[0])
	}
}

// inputLoad8 implements input_load_u8(offset i64) -> i32: it reads a byte of the input; 0 after its end.
func inputLoad8(c *call, stack []uint64) {
	var v byte
	if stack[0] < c.inputLength {
		v = c.arena.load8(c.input + stack[0])
	}
	stack[0] = uint64(v)
}

// inputLoad64 implements input_load_u64(offset i64) -> i64: it reads eight bytes from the start of the input; they may
// lie after its end.
func inputLoad64(c *call, stack []uint64) {
	v, ok := uint64(0), false
	if stack[0] < 1<<32 { // no overflow of the sum
		v, ok = c.arena.load64(c.input + stack[0])
	}
	if !ok {
		fault("the guest read outside of the shared memory, at offset %d of its input", stack[0])
	}
	stack[0] = v
}

// inputSet implements input_set(offset, length i64), which sets the range of the input.
func inputSet(c *call, stack []uint64) {
	if c.settable(stack[0], stack[1]) {
		c.input, c.inputLength = stack[0], stack[1]
	}
}

// outputSet implements output_set(offset, length i64), which sets the range of the output; the last call counts. The
// host reads the output after the export has returned. A range without blocks is ignored, so an output cannot be made
// empty again.
func outputSet(c *call, stack []uint64) {
	if c.settable(stack[0], stack[1]) {
		c.output, c.outputLength = stack[0], stack[1]
	}
}

// errorSet implements error_set(offset i64), which sets the block of the error text; 0 clears it.
func errorSet(c *call, stack []uint64) {
	if stack[0] == 0 || c.arena.settable(stack[0]) {
		c.failure = stack[0]
	}
}

// settable reports whether a range can be input or output: its first and its last byte must be settable.
func (c *call) settable(offset, n uint64) bool {
	return n <= c.arena.size && c.arena.settable(offset) && c.arena.settable(offset+n-1)
}
