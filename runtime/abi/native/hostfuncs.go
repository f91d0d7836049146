package native

import (
	"context"
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// HostFuncs returns the four functions that a native guest imports, and a program may import.
func HostFuncs() []runtime.HostFunc {
	const i32, i64 = runtime.I32, runtime.I64
	fn := func(name string, params []byte, result byte, call func(context.Context, runtime.Memory, []uint64)) runtime.HostFunc {
		return runtime.HostFunc{Module: Module, Name: name, Params: params, Results: []byte{result}, Call: call}
	}
	return []runtime.HostFunc{
		fn("read", []byte{i32, i32, i32}, i32, read),
		fn("write", []byte{i32, i32, i32}, i32, write),
		fn("call", []byte{i32, i32}, i64, ask),
		fn("close", []byte{i32}, i32, closeStream),
	}
}

// read implements read(stream, ptr, len i32) -> i32: it reads at most len bytes into the memory at ptr.
//
//	stream: 0 ─▶ the request           ptr ─▶ ┌────────┬─ ─ ─ ─ ┐
//	        n ─▶ a response, a body           │ result │ unused │  len
//	                                          └────────┴─ ─ ─ ─ ┘
//
// It returns the number of bytes read; 0 is the end. -EBADF: the stream is not readable. -EFAULT: the len bytes are
// out of bounds. -EIO: the stream's source failed. -ECANCEL: the call is over. -ENOSYS: no request is being served.
func read(ctx context.Context, mem runtime.Memory, stack []uint64) {
	id, ptr, size := uint32(stack[0]), uint32(stack[1]), uint32(stack[2])
	c := callFrom(ctx)
	if c == nil {
		stack[0] = failure(ENOSYS)
		return
	}
	p, ok := mem.Read(ptr, min(size, maxTransfer))
	if _, whole := mem.Read(ptr, size); !ok || !whole {
		stack[0] = failure(EFAULT)
		return
	}
	n, errno := c.read(id, p)
	if errno == EIO && ctx.Err() != nil {
		errno = ECANCEL
	}
	stack[0] = count(n, errno)
}

// maxTransfer bounds one read, in bytes, so that its result is never negative.
const maxTransfer = 1 << 30

// write implements write(stream, ptr, len i32) -> i32: it appends the len bytes at ptr to a stream; 1 is the response.
//
// It writes all bytes and returns len, or writes none. -EBADF: the stream is not writable. -EFAULT: the bytes are out
// of bounds. -EFBIG: over the stream's limit. -ENOSPC: over the total limit of written streams. -ENOSYS: no request is
// being served. A response over the limit ends the call.
func write(ctx context.Context, mem runtime.Memory, stack []uint64) {
	id, ptr, size := uint32(stack[0]), uint32(stack[1]), uint32(stack[2])
	c := callFrom(ctx)
	if c == nil {
		stack[0] = failure(ENOSYS)
		return
	}
	p, ok := mem.Read(ptr, size)
	if !ok {
		stack[0] = failure(EFAULT)
		return
	}
	if id == streamResponse && !c.program {
		c.respond(p)
		stack[0] = count(len(p), 0)
		return
	}
	n, errno := c.write(id, p)
	stack[0] = count(n, errno)
}

// respond appends to the response, and ends the guest if the response is too long, since no more output could be used.
func (c *call) respond(p []byte) {
	if len(p) > c.limit-c.response.Len() {
		runtime.Abort(overOutput(c.limit))
	}
	c.response.Write(p)
}

func overOutput(limit int) error {
	return &runtime.EndError{Kind: runtime.KindLimit, Message: fmt.Sprintf("the answer is over the limit of %d bytes", limit)}
}

// closeStream implements close(stream i32) -> i32: it closes a stream that was opened during the call, and returns 0.
//
// -EBADF: there is no such stream; the guest cannot close the request and the response. -ENOSYS: no request is being
// served.
func closeStream(ctx context.Context, _ runtime.Memory, stack []uint64) {
	c := callFrom(ctx)
	if c == nil {
		stack[0] = failure(ENOSYS)
		return
	}
	stack[0] = count(0, c.close(uint32(stack[0])))
}

// count returns the result of a function that returns a number of bytes.
func count(n int, e Errno) uint64 {
	if e != 0 {
		return failure(e)
	}
	return uint64(uint32(n))
}

// failure returns -errno as an i32.
func failure(e Errno) uint64 { return uint64(uint32(-e)) }
