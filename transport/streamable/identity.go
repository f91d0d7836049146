package streamable

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/sallyport-mcp/sallyport/transport/listener"
)

type connKey struct{}

// withConn adds the connection of a request to its context.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if placed := listener.Of(c); placed != nil {
		return context.WithValue(ctx, connKey{}, placed)
	}
	return ctx
}

// conn returns the connection of the request, or nil if it comes from a foreign listener.
func (x *exchange) conn() *listener.Conn {
	c, _ := x.r.Context().Value(connKey{}).(*listener.Conn)
	return c
}

const anonymous = "anonymous"

const (
	noToken = "a bearer token is required: where this server runs, sallyport token NAME makes one for its next start"
	// A server reads its tokens when it starts.
	unknownToken = "the token is not known: one that was made since this server started is known from its next start"
)

// authenticate determines the principal of the request.
func (x *exchange) authenticate() *refusal {
	// Behind a proxy, the peer of a socket is the proxy, not the caller.
	if c := x.conn(); c != nil && !x.h.options.BehindProxy {
		if uid, ok := c.User(); ok {
			x.principal = "socket:" + uid
			return nil
		}
	}
	if x.h.options.Tokens == nil {
		if !x.h.local { // only with a foreign listener: Check refuses such options
			return unauthorized("this server has no tokens and answers its own machine only", "")
		}
		x.principal = anonymous
		return nil
	}
	values := x.r.Header.Values("Authorization")
	if len(values) > 1 {
		return refuse(http.StatusBadRequest, "more than one Authorization header")
	}
	if len(values) == 0 {
		return unauthorized(noToken, "")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return unauthorized(noToken, "")
	}
	name, proof, ok := x.h.options.Tokens.Verify(strings.TrimSpace(token))
	if !ok {
		return unauthorized(unknownToken, `, error="invalid_token"`)
	}
	x.principal, x.proof = "token:"+name, proof
	return nil
}

// place assigns the connection to its caller, and counts the request as in flight.
func (x *exchange) place() *refusal {
	owner := x.principal
	if x.h.options.BehindProxy {
		owner = "the proxy"
	}
	if c := x.conn(); c != nil && !c.Known(owner) {
		return refuse(http.StatusServiceUnavailable, "too many connections").with("Retry-After", "1").closing()
	}
	if x.placed = x.h.requests.take(x.principal, 1); !x.placed {
		return refuse(http.StatusTooManyRequests, "too many requests at once").with("Retry-After", "1")
	}
	return nil
}

func unauthorized(why, parameters string) *refusal {
	return refuse(http.StatusUnauthorized, "%s", why).
		with("WWW-Authenticate", `Bearer realm="sallyport"`+parameters)
}
