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
// Single aspects are in packages below this one: requests and the form of results (envelope), lists (listing), plugin
// output and failures (result), messages before the result and subscriptions (notify), questions (inputrequest),
// suspended calls (continuation), tasks (task) and idempotency keys (idempotency). This package routes requests through
// them. The handler of a method is a function in a file named after the method or its family, such as ping.go and
// list.go. All share:
//
//	conn.go           a connection; legacysession.go what initialize began on it, inflight.go its requests
//	method.go         the method table
//	request.go        one request, from its acceptance to its response; respond.go has its end
//	client.go         the request as client of its plugin; ask.go sends its questions, reports.go collects effects
//	answer.go         results; failure.go all errors
//	resumption.go     a request that continues a call which asked
//
// A transport may call Handle from any number of goroutines.
package protocol
