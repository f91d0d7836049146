package extism

import (
	"context"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// Module is the name that a guest imports the kernel's functions from.
const Module = "extism:host/env"

// kernelFunc serves one kernel function for one call.
type kernelFunc func(c *call, stack []uint64)

// kernelFuncs are the functions that only touch the call's shared memory. An offset that is no block,
// or that lies outside, is harmless: reading there gives zero, and setting it sets nothing. Only the
// 64-bit loads and stores end a guest that leaves the memory, as they do in Extism's Go host.
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

// kernel wraps a function that needs the call and nothing else. Outside a call it answers zero.
func kernel(name string, params []byte, result byte, f kernelFunc) runtime.HostFunc {
	h := hostFunc(Module, name, params, result, func(_ context.Context, c *call, _ runtime.Memory, stack []uint64) { f(c, stack) })
	h.Quick = func(attached any, stack []uint64) {
		if c, ok := attached.(*call); ok {
			f(c, stack)
		} else if result != 0 { // another dialect serves the guest
			stack[0] = 0
		}
	}
	return h
}

// callFunc serves one host function for one call.
type callFunc func(ctx context.Context, c *call, mem runtime.Memory, stack []uint64)

// hostFunc wraps a function that needs a call. Start-up code runs before there is one: its calls
// change nothing and answer zero. A result of 0 means none.
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

// alloc(n i64) -> i64 makes a block of n bytes; 0: no room, or n is 0.
func alloc(c *call, stack []uint64) { stack[0] = c.arena.alloc(stack[0]) }

// free(offset i64) gives a block back. That of the input takes the input with it.
func free(c *call, stack []uint64) { c.free(stack[0]) }

func (c *call) free(offset uint64) {
	if c.arena.release(offset) && offset == c.input {
		c.inputLength = 0
	}
}

// length(offset i64) -> i64 is the length of a block; 0: there is no block at this offset.
// length_unsafe is the same: the kernel's own is quicker and believes what the guest may have
// overwritten.
func length(c *call, stack []uint64) { stack[0] = c.arena.blockLength(stack[0]) }

// load_u8(offset i64) -> i32 reads a byte; 0 outside the memory.
func load8(c *call, stack []uint64) { stack[0] = uint64(c.arena.load8(stack[0])) }

// load_u64(offset i64) -> i64 reads eight bytes, little-endian.
func load64(c *call, stack []uint64) {
	v, ok := c.arena.load64(stack[0])
	if !ok {
		fault("the guest read outside of the shared memory, at offset %d", stack[0])
	}
	stack[0] = v
}

// store_u8(offset i64, value i32) writes a byte; outside the memory nothing happens.
func store8(c *call, stack []uint64) { c.arena.store8(stack[0], byte(stack[1])) }

// store_u64(offset, value i64) writes eight bytes, little-endian.
func store64(c *call, stack []uint64) {
	if !c.arena.store64(stack[0], stack[1]) {
		fault("the guest wrote outside of the shared memory, at offset %d", stack[0])
	}
}

// input_load_u8(offset i64) -> i32 reads a byte of the input; 0 behind its end.
func inputLoad8(c *call, stack []uint64) {
	var v byte
	if stack[0] < c.inputLength {
		v = c.arena.load8(c.input + stack[0])
	}
	stack[0] = uint64(v)
}

// input_load_u64(offset i64) -> i64 reads eight bytes where the input lies, and on behind its end.
func inputLoad64(c *call, stack []uint64) {
	v, ok := uint64(0), false
	if stack[0] < 1<<32 { // the sum stays what it is
		v, ok = c.arena.load64(c.input + stack[0])
	}
	if !ok {
		fault("the guest read outside of the shared memory, at offset %d of its input", stack[0])
	}
	stack[0] = v
}

// input_set(offset, length i64) says where the input lies.
func inputSet(c *call, stack []uint64) {
	if c.settable(stack[0], stack[1]) {
		c.input, c.inputLength = stack[0], stack[1]
	}
}

// output_set(offset, length i64) says where the output lies; the last one counts. The bytes are taken
// when the export has returned. That of no block sets nothing, so that an output cannot be made empty
// again.
func outputSet(c *call, stack []uint64) {
	if c.settable(stack[0], stack[1]) {
		c.output, c.outputLength = stack[0], stack[1]
	}
}

// error_set(offset i64) says that the block there holds an error text; 0 takes it back.
func errorSet(c *call, stack []uint64) {
	if stack[0] == 0 || c.arena.settable(stack[0]) {
		c.failure = stack[0]
	}
}

// settable tells whether a range can be input or output: its first and its last byte can.
func (c *call) settable(offset, n uint64) bool {
	return n <= c.arena.size && c.arena.settable(offset) && c.arena.settable(offset+n-1)
}
