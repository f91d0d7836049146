// Package outbox keeps what one session is told until its client has it, and for a while after that.
//
//	call ──▶ Stream.Send ──▶ ┌ outbox ─────────────┐
//	call ──▶ Stream.Send ──▶ │ events of a session │ ──▶ Reader ──▶ connection
//	         Stream.End  ──▶ └─────────────────────┘ ──▶ Reader ──▶ another connection, later
//
// A stream is what one connection carries: the messages of one request and its answer, or what belongs to
// no request. It outlives connections: a client that lost one opens another, names the last event that
// it has, and reads on from there. A stream has one reader at a time; a new one takes over.
//
// Sending never waits for a client. So the events are bounded, and the oldest go first; what a connected
// client has still to get of a request's answer is never among them.
//
// The package is internal to Sallyport; its API is not promised to others.
package outbox
