// Package notify sends the messages of a request that precede its result: progress and log messages.
//
//	plugin ──▶ Progress, Message ──▶ requested? increased? level? cleaned, rate-limited ──▶ Send ──▶ client
//
// Progress over the rate limit is held back, and the newest is sent at the end. Log messages over the limit are
// dropped. Nothing is sent after the result or a cancellation.
package notify
