// Package form puts what a plugin asks a person before whoever runs this host, where the client of the call has no
// way to ask.
//
//	call ─▶ gate ──▶ Desk.Ask ──▶ store ◀── sallyport pending, the console
//	          ▲                     │
//	          └──── Desk.Wait ◀─────┴◀── sallyport answer, the console
//
// What is answered goes to the plugin, for one call, and is nothing else: no grant comes of it. It is for the same
// bytes of the plugin, the same caller and the very same form.
//
//	d := form.New(form.Options{Store: s, Wait: true})
//	f := form.Form{Plugin: "demo", Digest: digest, Principal: who, Params: params}
//	answer, ok := d.Take(ctx, f) // given before
//	if !ok {
//		f, ok = d.Ask(ctx, f)
//		answer = d.Wait(ctx, f)
//	}
//
// This package is internal to Sallyport: it is not promised to others.
package form
