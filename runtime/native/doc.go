// Package native is the calling convention of Sallyport's own plugins: one export, four imports,
// and everything is a stream.
//
//	export  mcp_handle(size i32) -> i32              serve one request of size bytes; 0 = answered
//	import  sallyport.read (stream, ptr, len i32) -> i32   bytes read; 0 = end; negative = -errno
//	import  sallyport.write(stream, ptr, len i32) -> i32   bytes written; negative = -errno
//	import  sallyport.call (ptr, len i32) -> i64           stream << 32 | size of the answer, or -errno
//	import  sallyport.close(stream i32) -> i32             0, or -errno
//
// The host calls mcp_handle once for each request. Stream 0 holds the request, stream 1 takes the
// answer; both are JSON without the JSON-RPC envelope:
//
//	stream 0   {"method":"tools/call","params":{"name":"now"}}
//	stream 1   {"result":{"content":[…]}}   or   {"error":{"code":-32602,"message":"…"}}
//
// With call the guest asks the host in the same shape, {"method", "params"}, and reads the answer
// from the stream it is given. An array of requests is one round and answers with an array. The
// error of a refused ask has the code CodeAsk and says why in data.kind: denied, invalid,
// unsupported, unavailable, timeout, limit or conflict.
//
// stream/open {"limit": bytes} gives a stream that the guest writes; the guest then names it, once,
// as {"dev.sallyport/stream": n} where a body may stand: in a request that takes one, or as the data
// or blob of content in its answer, where the host puts the bytes in as base64.
//
// Error numbers are those of WASI preview 1. Pointers and lengths are unsigned.
package native
