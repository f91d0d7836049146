// Package streamable serves MCP over HTTP, at one endpoint, to clients of the modern (sessionless) and the legacy
// (session) protocol revisions.
//
//	POST ─▶ Origin ─▶ Host ─▶ rate ─▶ token ─▶ type ─▶ size ─▶ JSON ─┬▶ modern: headers against body ─▶ one Conn a request
//	          403      403     429     401    415 406   413     400   └▶ legacy: Mcp-Session-Id       ─▶ one Conn a session
//
// The checks run in this order, and the first failure is the response. A response is one JSON object. It becomes an
// event stream when messages precede the result, such as progress.
//
// A modern request is independent, and is cancelled when its client disconnects. A legacy client sends initialize and
// gets a session, which belongs to its principal, and whose calls continue after a disconnect. Messages of a session
// that belong to no request are sent on the stream that GET opens. A broken stream is resumed by a GET with the last
// event ID.
//
// Listen opens loopback addresses and unix sockets without a proxy unconditionally, sockets and loopback addresses
// behind a proxy only with tokens, and others only with tokens and with TLS or a TLS proxy: see Options.Check.
//
//	h := streamable.NewHandler(srv, o)
//	l, err := streamable.Listen(o)
//	…
//	fmt.Println("serving", l.URL())
//	err = l.Serve(ctx, h)
package streamable
