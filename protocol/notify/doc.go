// Package notify is what a request sends before its result: how far its call has come, and what it logs.
//
//	plugin ──▶ Progress, Message ──▶ asked for? grown? loud enough? cleaned, not too fast ──▶ Send ──▶ client
//
// Progress that comes too fast is held back, and the newest goes out with the end; messages are dropped. Nothing follows
// the result, and nothing follows a cancellation.
//
// This package is internal to Sallyport and may change.
package notify
