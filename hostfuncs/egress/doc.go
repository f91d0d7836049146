// Package egress sends the HTTP requests of guests: it makes them canonical, resolves the host, checks each address,
// and connects to the checked address.
//
//	r, err := egress.Parse(params, streams)           // {method?, url, headers?, body?} of the guest
//	data, err := r.Body.Bytes(limit)
//	res, err := client.Do(ctx, r, data, exchange)     // one hop; an *AddressError if the address is denied
//	err = egress.Follow(r, res, send)                 // the redirects, each checked and sent by send
//
// It knows no grants: callers check them before each hop. Its own rules apply to all requests: the fields that a guest
// may set, the addresses that a name may resolve to, deadlines, and the size of a response. Errors for guests are
// *runtime.AskError.
package egress
