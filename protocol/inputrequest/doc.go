// Package inputrequest checks client capabilities for questions and tracks the questions of a call. A question that
// needs an undeclared capability is refused at once and never sent.
//
//	capabilities ──▶ Abilities ─┐
//	a plugin's round ──▶ Rounds.Next ──▶ questions ──▶ Requests, for the client
//	                                         ▲  └────▶ Answers, for the plugin
//	the client's inputResponses ──▶ Take ────┘
//
// A modern client receives the questions in the result of its request. A legacy client receives one request per
// question, tracked by the Desk of its connection.
package inputrequest
