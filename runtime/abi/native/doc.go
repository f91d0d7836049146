// Package native implements the ABI of Sallyport's own plugins: two exports and four imports, with all data in streams.
//
//	export  mcp_handle(size i32) -> i32              serve one request of size bytes; 0 = success
//	export  mcp_warm() -> i32                        optional: warm up before the image is taken; 0 = success
//	import  sallyport.read (stream, ptr, len i32) -> i32   bytes read; 0 = end; negative = -errno
//	import  sallyport.write(stream, ptr, len i32) -> i32   bytes written; negative = -errno
//	import  sallyport.call (ptr, len i32) -> i64           stream << 32 | size of the response, or -errno
//	import  sallyport.close(stream i32) -> i32             0, or -errno
//
// The host calls mcp_handle once for each request. Stream 0 holds the request, stream 1 receives the response; both
// are JSON without the JSON-RPC envelope:
//
//	stream 0   {"method":"tools/call","params":{"name":"now"}}
//	stream 1   {"result":{"content":[…]}}   or   {"error":{"code":-32602,"message":"…"}}
//
// With call the guest sends the host a request of the same shape, {"method", "params"}, and reads the response from
// the returned stream. An array of requests is one round, with an array as its response. The error of a denied or
// failed ask has the code -32000 and its reason in data.kind: denied, invalid, unsupported, unavailable, timeout,
// limit or conflict.
//
// stream/open {"limit": bytes} opens a stream for the guest to write. The guest then refers to it, once, as
// {"dev.sallyport/stream": n} in place of a body: in a request that takes one, or as the data or blob of content in
// its result, where the host inserts the bytes as base64.
//
// The host calls mcp_warm once, after the start of a module and before the first request. There is no request then, so
// the four imports return -ENOSYS. All later calls begin with the state that it leaves. If it fails, they begin with the
// state from before it.
//
// A program or a server of another dialect may import the four functions too, for http/fetch and stream/open. It has
// no stream 0 and no stream 1.
//
// Error numbers are those of WASI preview 1. Pointers and lengths are unsigned.
package native
