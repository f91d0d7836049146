// Package streamable serves MCP over HTTP, at one endpoint, to clients of both eras at once.
//
//	POST ─▶ Origin ─▶ Host ─▶ rate ─▶ token ─▶ type ─▶ size ─▶ JSON ─┬▶ modern: headers against body ─▶ one Conn a request
//	          403      403     429     401    415 406   413     400   └▶ legacy: Mcp-Session-Id       ─▶ one Conn a session
//
// The checks run in this order, and the first that fails answers. An answer is one JSON object; it
// becomes an event stream when something comes before the result, such as progress.
//
// A modern request stands for itself, and ends when its client goes away. A legacy client begins
// with initialize and gets a session, which belongs to the principal that began it, and whose calls
// go on without their client. What such a session is told outside of requests comes on the stream that
// GET opens, and a stream that broke is read on by a GET that names the last event.
//
// Listen opens loopback addresses and unix sockets for everybody, and others only with tokens and
// with TLS or a proxy that does it: see Options.Check.
//
//	h := streamable.NewHandler(srv, o)
//	l, err := streamable.Listen(o)
//	…
//	fmt.Println("serving", l.URL())
//	err = l.Serve(ctx, h)
//
// The package is internal to Sallyport; its API is not promised to others.
package streamable
