package streamable

import (
	"context"
	"net/http"
	"strings"
)

type peerKey struct{}

// withPeer notes the user at the other end of a unix socket.
func withPeer(ctx context.Context, uid string) context.Context {
	return context.WithValue(ctx, peerKey{}, uid)
}

const anonymous = "anonymous"

// authenticate finds out whose request it is.
func (x *exchange) authenticate() *refusal {
	// Behind a proxy the user at the other end of a socket is the proxy's, and not the caller.
	if uid, ok := x.r.Context().Value(peerKey{}).(string); ok && !x.h.options.BehindProxy {
		x.principal = "socket:" + uid
		return nil
	}
	if x.h.options.Tokens == nil {
		if !x.h.local { // Check refuses such options: another listener than ours serves this handler
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
		return unauthorized("a bearer token is required", "")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return unauthorized("a bearer token is required", "")
	}
	name, ok := x.h.options.Tokens.Verify(strings.TrimSpace(token))
	if !ok {
		return unauthorized("the token is not known", `, error="invalid_token"`)
	}
	x.principal = "token:" + name
	return nil
}

func unauthorized(why, parameters string) *refusal {
	return refuse(http.StatusUnauthorized, "%s", why).
		with("WWW-Authenticate", `Bearer realm="sallyport"`+parameters)
}
