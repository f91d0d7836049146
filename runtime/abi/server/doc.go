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
//	                                 stdout ─▶ the result, which ends the call
//
// Under runtime.StateCall all calls of a resumable guest (see runtime.Module.Resumable) begin behind the handshake, in
// copies of one image, or before the first effect of a start that has one (see readings). Under StateSession and
// StatePlugin the guest runs on until it waits for input, is suspended there, and continues with the next call. Others are
// started by each call, and end with it.
//
// The guest writes on the goroutine of the call: a message is served within the write that completes it, and every
// effect of the server belongs to a call.
package server
