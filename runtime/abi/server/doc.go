// Package server implements the ABI of whole MCP servers: WASI programs that speak MCP on their standard input and
// output, one JSON-RPC message a line. The host is the client of such a server:
//
//	host                                     guest
//	initialize                    ─▶ stdin
//	                                 stdout ─▶ its result
//	notifications/initialized     ─▶
//	the request of the call       ─▶
//	                                 stdout ─▶ notifications, requests of its own: to the gate of the call
//	their responses               ─▶
//	                                 stdout ─▶ the result, which ends the guest
//
// Each call runs in an instance of its own, with a handshake of its own, so that every effect of the server belongs to
// a call. The guest writes on the goroutine of the call: a message is served within the write that completes it, and a
// server that waits for input is suspended in its host function.
package server
