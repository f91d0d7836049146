// Package elicit stores the elicitations of plugins for the operator to answer, when the client of the call has no way
// to elicit.
//
//	call ─▶ gate ──▶ Desk.Ask ──▶ store ◀── sallyport pending, the console
//	          ▲                     │
//	          └──── Desk.Wait ◀─────┴◀── sallyport answer, the console
//
// An answer goes to the plugin, for one call, and grants nothing. It is valid only for the same plugin digest, the
// same caller and an identical form.
//
//	d := elicit.New(elicit.Options{Store: s, Wait: true})
//	f := elicit.Form{Plugin: "demo", Digest: digest, Principal: who, Params: params}
//	answer, ok := d.Take(ctx, f) // given before
//	if !ok {
//		f, ok = d.Ask(ctx, f)
//		answer = d.Wait(ctx, f)
//	}
package elicit
