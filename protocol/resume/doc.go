// Package resume stores a call that ended with questions until its client returns with the answers.
//
//	call asks ──▶ Keeper.Seal ──▶ requestState ──▶ client ──▶ Keeper.Open ──▶ Keeper.Use ──▶ call goes on
//	                 └─ store, for large journals                   └─ once, in any process
//
// A State is sealed, so that its client can neither read nor modify it, and bound to its request: it opens for the
// same principal and request until it expires. Each is used once. A repeated use, after a lost response, gets the
// same answer.
//
// This package is internal to Sallyport and may change.
package resume
