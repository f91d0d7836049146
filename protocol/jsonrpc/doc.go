// Package jsonrpc splits a JSON-RPC 2.0 message into its envelope and raw members, and writes
// one back.
//
//	{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"time-now"}}
//	                 └ ID    └ Method              └ Params, untouched
//
// Parse goes over the bytes once: it checks that all of them are JSON and notes where the
// members of the envelope are. What it returns are views into the input, so a caller that
// keeps a Message keeps the buffer as well, and must not write into it.
//
// The envelope is held strictly, as MCP asks: an identifier is a string or an integer, params
// are an object or an array, no member stands twice, and a message is one of request,
// notification and response, never two. Members that JSON-RPC does not know are kept in Extra
// and written again: encoding a parsed message and parsing that gives an equal message.
package jsonrpc
