// Package protocol is the MCP server: it answers the requests of clients from a Catalog of tools,
// resources and prompts, and knows neither how messages travel nor how plugins run.
//
//	transport ──▶ Conn.Handle ──▶ era ──▶ method table ──▶ handler ──▶ Catalog ──▶ plugin
//	    ▲             │            (per request)             │                       │
//	    └── Response ◀┴── checked, cleaned, framed ◀─────────┴───── raw result ◀─────┘
//
// A Server serves two eras of MCP at once and decides for each request which one it belongs to.
// A request of the modern era says its protocol version in params._meta, and nothing is remembered
// between two of them. A request of the legacy era (2024-11-05 to 2025-11-25) belongs to the session
// that initialize began on its Conn. Both kinds may alternate on one Conn.
//
// Contents are not ours: arguments go to the plugin and results come back as the bytes they were.
// Only the top level of a result is edited, so members that this package does not know survive in
// both directions. What a plugin answers is still not trusted: its shape, its size, its reserved
// keys and its error codes are checked before anything leaves.
//
// What one thing is about is a package below this one: the era of a request and the form of its result (era), lists
// (listing), what a plugin answered (answer), why it gave no answer (failure), what goes to the client before the result
// (stream), questions (ask) and the calls that wait for their answers (resume, parked), tasks (task, task/runner),
// subscriptions, what a client says about one call (wish), idempotency keys (once), sessions, the greeting. What is left
// here is the way of a request through them, a file for each method:
//
//	conn.go        what a client's connection has, and which requests run
//	request.go     one request, from its envelope to its response
//	method.go      the table of methods
//	client.go      the request as its plugin's client; ask.go its questions
//	reply.go       results; errors.go whatever ended without one
//
// A transport may call Handle from as many goroutines as it likes.
//
// Only the plugin contract and the plugin development kits are promised to others; this package may
// change.
package protocol
