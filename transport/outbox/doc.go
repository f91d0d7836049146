// Package outbox buffers the messages of one session until its client has received them, and for resumption after
// that.
//
//	call ──▶ Stream.Send ──▶ ┌ outbox ─────────────┐
//	call ──▶ Stream.Send ──▶ │ events of a session │ ──▶ Reader ──▶ connection
//	         Stream.End  ──▶ └─────────────────────┘ ──▶ Reader ──▶ another connection, later
//
// A stream is the content of one connection: the messages of one request and its response, or messages that belong to
// no request. It outlives connections: a client that lost one opens a new one, names the last event that it received,
// and continues from there. A stream has one reader at a time. A new one replaces it.
//
// Sending never blocks on a client. Therefore the events are bounded, and the oldest are dropped first, except those
// of a response that a connected client has not received yet.
package outbox
