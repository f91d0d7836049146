// Package ask is what a client can be asked, and the questions of one call: what it did not declare is answered at
// once, and never sent.
//
//	capabilities ──▶ Abilities ─┐
//	a plugin's round ──▶ Rounds.Next ──▶ questions ──▶ Requests, for the client
//	                                         ▲  └────▶ Answers, for the plugin
//	the client's inputResponses ──▶ Take ────┘
//
// A modern client gets the questions with the result of its request. A legacy one is sent a request for each, which the
// Desk of its connection has until it answers.
//
// This package is internal to Sallyport: it is not promised to others.
package ask
