package native

import "github.com/sallyport-mcp/sallyport/runtime"

// Attach serves the four imports to the guest of another dialect during its call: a program or a server that asks for
// effects. It has no stream 0 and no stream 1, and its methods are stream/open and http/fetch, under the gate of the
// call. A guest that imports none of the four is unaffected. The caller must call detach, which closes its streams.
func Attach(in *runtime.Instance) (detach func()) {
	c := &call{program: true, next: streamFirst}
	in.Attach(c)
	return c.closeAll
}

// isForPrograms reports whether a method has a meaning without a request of MCP: results and questions of other methods
// belong to the protocol that the guest itself speaks, or to its files.
func isForPrograms(method string) bool { return method == "http/fetch" }
