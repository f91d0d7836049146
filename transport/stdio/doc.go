// Package stdio serves one MCP client over standard input and output, with one JSON-RPC message per line, as desktop
// clients expect of the servers they launch.
//
//	stdin ─▶ line ─▶ parse ─▶ Conn.Handle ─▶ line ─▶ stdout
//	          ▲          │
//	          └── watch ◀┘   a slow call passes its turn at stdin to a new goroutine
//
// The goroutine that reads a message also handles it, so that a fast call costs no goroutine switch. A slow call must
// not block the messages after it (a ping, or its own cancellation). Therefore a watch checks once a millisecond: a
// handler that is still in the same call loses its turn to read to a new goroutine. The old one writes its result and
// ends. When the calls in flight reach a limit, reading stops, and the pipe applies back-pressure to the client.
//
// An invalid line is answered with an error, and serving continues. Only messages are ever written to out.
package stdio
