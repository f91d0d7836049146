package wasi

import (
	"context"
	goruntime "runtime"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// procExit ends the guest. It does not return.
//
//	proc_exit(code i32)
func procExit(_ context.Context, _ runtime.Memory, stack []uint64) {
	runtime.Exit(uint32(stack[0]))
}

// procRaise returns ENOSYS: there are no signals, and the specification withdrew the function.
//
//	proc_raise(signal i32) -> errno    ENOSYS
func procRaise(call, []uint64) Errno { return ENOSYS }

// schedYield yields the processor to other goroutines.
//
//	sched_yield() -> errno
func schedYield(c call, _ []uint64) Errno {
	c.streams[0].yielded()
	goruntime.Gosched()
	return ESUCCESS
}

// noSocket implements all functions on sockets. No descriptor is a socket: a guest reaches the network only by host
// functions.
//
//	sock_accept, sock_recv, sock_send, sock_shutdown (fd i32, …)    EBADF, ENOTSOCK
func noSocket(c call, p []uint64) Errno {
	if c.files.get(uint32(p[0])) == nil {
		return EBADF
	}
	return ENOTSOCK
}
