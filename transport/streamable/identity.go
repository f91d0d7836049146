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

// connOf returns the connection of a request, or nil if it comes from a foreign listener.
func connOf(r *http.Request) *listener.Conn {
	c, _ := r.Context().Value(connKey{}).(*listener.Conn)
	return c
}

const anonymous = "anonymous"

const (
	noToken = "a bearer token is required: where this server runs, sallyport token NAME makes one for its next start"
	// A server reads its tokens when it starts.
	unknownToken = "the token is not known: one that was made since this server started is known from its next start"
)

// caller is the source of an authenticated request.
type caller struct {
	principal string // "" before authentication
	proof     string // of the principal's token
}

// authenticator determines the callers of requests.
type authenticator struct {
	tokens      Verifier // nil if none are required
	local       bool     // callers are on this machine
	behindProxy bool
}

// identify returns the caller of a request.
func (a *authenticator) identify(r *http.Request) (caller, *refusal) {
	// Behind a proxy, the peer of a socket is the proxy, not the caller.
	if c := connOf(r); c != nil && !a.behindProxy {
		if uid, ok := c.User(); ok {
			return caller{principal: "socket:" + uid}, nil
		}
	}
	if a.tokens != nil {
		return a.verify(r.Header.Values("Authorization"))
	}
	if !a.local { // only with a foreign listener: Check refuses such options
		return caller{}, unauthorized("this server has no tokens and answers its own machine only", "")
	}
	return caller{principal: anonymous}, nil
}

// verify returns the caller with a bearer token.
func (a *authenticator) verify(authorization []string) (caller, *refusal) {
	if len(authorization) > 1 {
		return caller{}, refuse(http.StatusBadRequest, "more than one Authorization header")
	}
	if len(authorization) == 0 {
		return caller{}, unauthorized(noToken, "")
	}
	scheme, token, _ := strings.Cut(authorization[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return caller{}, unauthorized(noToken, "")
	}
	name, proof, ok := a.tokens.Verify(strings.TrimSpace(token))
	if !ok {
		return caller{}, unauthorized(unknownToken, `, error="invalid_token"`)
	}
	return caller{principal: "token:" + name, proof: proof}, nil
}

func unauthorized(why, parameters string) *refusal {
	return refuse(http.StatusUnauthorized, "%s", why).
		with("WWW-Authenticate", `Bearer realm="sallyport"`+parameters)
}
