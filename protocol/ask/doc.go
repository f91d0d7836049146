// Package ask is what a client can be asked, and the questions of one call: what it did not declare is answered at
// once, and never sent.
//
//	capabilities ──▶ Abilities ─┐
//	a plugin's round ──▶ Rounds.Next ──▶ questions ──▶ Requests, for the client
//	                                         ▲  └────▶ Answers, for the plugin
//	the client's inputResponses ──▶ Take ────┘
//
// How a question travels and who waits for its answer is the caller's affair.
//
// This package is internal to Sallyport: it is not promised to others.
package ask
