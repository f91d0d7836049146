// Package jsonrpc parses a JSON-RPC 2.0 message into its envelope and raw members, and encodes it.
//
//	{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"time-now"}}
//	                 └ ID    └ Method              └ Params, untouched
//
// Parse scans the bytes once. It validates all of the JSON and records the positions of the envelope's members. The
// returned values are views into the input: the buffer must stay unmodified as long as the Message is in use.
//
// The envelope is validated strictly, as MCP requires: an id is a string or an integer, params are an object or an
// array, no member is duplicated, and a message is exactly one of request, notification and response. Unknown
// members are kept in Extra and written again: encoding a parsed message and parsing it gives an equal message.
package jsonrpc
