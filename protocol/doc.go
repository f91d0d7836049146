// Package protocol implements the MCP server: it answers client requests from a Catalog of tools, resources and
// prompts, independent of transport and plugin runtime.
//
//	transport ──▶ Conn.Handle ──▶ era ──▶ method table ──▶ handler ──▶ Catalog ──▶ plugin
//	    ▲             │            (per request)             │                       │
//	    └── Response ◀┴── checked, cleaned, framed ◀─────────┴───── raw result ◀─────┘
//
// A Server serves two eras of MCP at once and determines the era per request. A request of the modern era carries its
// protocol version in params._meta and is stateless. A request of the legacy era (2024-11-05 to 2025-11-25) belongs to
// the session that initialize began on its Conn. Both eras may alternate on one Conn.
//
// Contents are opaque: arguments reach the plugin and results the client byte for byte. Only the top level of a result
// is edited, so unknown members survive in both directions. Plugin output is not trusted: its shape, size, reserved
// keys and error codes are checked before anything is sent.
//
// Single aspects are in packages below this one: era and result form (era), lists (listing), plugin output (answer),
// failures (failure), messages before the result (notify), questions (inputrequest) and suspended calls (resume,
// parked), tasks (task, task/runner), subscriptions (subscription), per-call options of the client (wish), idempotency
// keys (idempotency), sessions (session) and server capabilities (greeting). This package routes requests through
// them, one file per method:
//
//	conn.go        the state of a connection and its requests in flight
//	request.go     one request, from envelope to response
//	method.go      the method table
//	client.go      the request as client of its plugin; ask.go sends its questions
//	reply.go       results; errors.go all errors
//
// A transport may call Handle from any number of goroutines.
package protocol
