// Package resume keeps a call that ended with questions until its client comes back with the answers.
//
//	call asks ──▶ Keeper.Seal ──▶ requestState ──▶ client ──▶ Keeper.Open ──▶ Keeper.Use ──▶ call goes on
//	                 └─ store, for what is too large                └─ once, in whichever process
//
// A State is sealed, so that its client can neither read nor change it, and bound to what was asked for: it opens for
// the same principal with the same request, until it expires. Each is used once; whoever brings it again, since the
// answer was lost on its way, is answered the same.
//
// This package is internal to Sallyport and may change.
package resume
