// Package stdio serves one MCP client over standard input and output: one JSON-RPC message a
// line, which is how desktop clients talk to the servers they launch.
//
//	stdin ─▶ line ─▶ parse ─▶ Conn.Handle ─▶ line ─▶ stdout
//	          ▲          │
//	          └── watch ◀┘   a call that takes long gives its place at stdin to a new goroutine
//
// The goroutine that reads a message also handles it: a quick answer costs no goroutine switch
// at all. So that a slow call never holds up what comes behind it (a ping, the cancellation of
// that very call), a watch looks once a millisecond: a handler that is still in the same call
// loses the right to read, and a new goroutine goes on with it. The old one writes its answer
// and ends. When the number of calls or their bytes reach the limit, nobody takes over, reading
// rests, and the pipe holds the client back.
//
// A line that is no message is answered with an error, and the next one is served. What is
// written to out is never anything but messages.
//
// The package is internal to Sallyport; its API is not promised to others.
package stdio
