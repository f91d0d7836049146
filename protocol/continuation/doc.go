// Package continuation keeps a call that asked a question until its client returns with the answers.
//
// A call that can be replayed ends with its questions, and its journal is sealed into requestState:
//
//	call asks ──▶ Keeper.Seal ──▶ requestState ──▶ client ──▶ Keeper.Open ──▶ Keeper.Use ──▶ call goes on
//	                 └─ store, for what is too large                └─ once, in whichever process
//
// A State is sealed, so that its client can neither read nor modify it, and bound to its request: it opens for the
// same principal and request until it expires. Each is used once. A repeated use, after a lost response, gets the
// same answer.
//
// A call to a plugin with kept state cannot be replayed. Its instance waits at the question between requests:
//
//	first request ──▶ ParkedCalls.Begin ──▶ ParkedCall.Wait ──▶ the plugin asks ──▶ the request ends with the questions
//	                                                                  │ waits
//	next request ───▶ ParkedCalls.Take ───▶ ParkedCall.GoOn ──▶ ParkedCall.Wait ──▶ … ──▶ the result
//
// The newest request is the client of the call. A call without a next request is ended after a time limit.
package continuation
