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

// procRaise would send a signal; there are none, and the specification withdrew it.
//
//	proc_raise(signal i32) -> errno    ENOSYS
func procRaise(call, []uint64) Errno { return ENOSYS }

// schedYield lets other work run.
//
//	sched_yield() -> errno
func schedYield(call, []uint64) Errno {
	goruntime.Gosched()
	return ESUCCESS
}

// noSocket is every function on sockets: no descriptor is one, since a guest reaches the network only by asking the host.
//
//	sock_accept, sock_recv, sock_send, sock_shutdown (fd i32, …)    EBADF, ENOTSOCK
func noSocket(c call, p []uint64) Errno {
	if c.files.get(uint32(p[0])) == nil {
		return EBADF
	}
	return ENOTSOCK
}
