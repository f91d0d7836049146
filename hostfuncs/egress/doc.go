// Package egress is how requests leave this machine: what a guest asked for becomes a canonical request, the
// name of its host is resolved here, each address is looked at, and the connection goes to that very address.
//
//	r, err := web.Parse(params, streams)              // {method?, url, headers?, body?}, as guests write it
//	data, err := r.Body.Bytes(limit)
//	res, err := client.Do(ctx, r, data, exchange)     // one hop; an *AddressError if it leads where it may not
//	next, err := r.Redirect(res)                      // the hop after it, nil if this was the last
//
// It knows no grants: who may ask for what is decided above, before each hop. What is decided here holds for
// everybody: which fields a guest may write, which addresses a name may lead to, how long anything takes, and
// how much comes back. Errors that a guest is told are *runtime.AskError.
package egress
