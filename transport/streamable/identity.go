package streamable

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/threads"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/transport/auth/oauth"
	"github.com/sallyport-mcp/sallyport/transport/listener"
)

type connKey struct{}

// withConn adds the connection of a request to its context. A new connection takes all threads before its handshake.
func withConn(ctx context.Context, c net.Conn) context.Context {
	threads.Busy()
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

// soleConn returns the connection of a request if it has one request at a time, and nil if not.
func soleConn(r *http.Request) any {
	if c := connOf(r); c != nil && r.ProtoMajor == 1 {
		return c
	}
	return nil
}

const (
	noToken       = "a bearer token is required: where this server runs, sallyport token NAME makes one for its next start"
	noAccessToken = "a bearer token is required: sign in as WWW-Authenticate says"
	// A server reads its tokens when it starts.
	unknownToken = "the token is not known: one that was made since this server started is known from its next start"
)

// caller is the source of an authenticated request.
type caller struct {
	principal string // "" before authentication
	proof     string // of the principal's token
	identity  identity.Identity
}

// authenticator determines the callers of requests.
type authenticator struct {
	tokens      Verifier        // nil if none are required
	oauth       *oauth.Resource // nil without sign-in
	local       bool            // callers are on this machine
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
	if a.tokens != nil || a.oauth != nil {
		return a.verify(r.Context(), r.Header.Values("Authorization"))
	}
	if !a.local { // only with a foreign listener: Check refuses such options
		return caller{}, unauthorized("this server has no tokens and answers its own machine only", "")
	}
	return caller{principal: identity.Anonymous}, nil
}

// verify returns the caller with a bearer token.
func (a *authenticator) verify(ctx context.Context, authorization []string) (caller, *refusal) {
	if len(authorization) > 1 {
		return caller{}, refuse(http.StatusBadRequest, "more than one Authorization header")
	}
	if len(authorization) == 0 {
		return caller{}, a.tokenless()
	}
	scheme, token, _ := strings.Cut(authorization[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return caller{}, a.tokenless()
	}
	token = strings.TrimSpace(token)
	if a.tokens != nil {
		if name, proof, ok := a.tokens.Verify(token); ok {
			return caller{principal: "token:" + name, proof: proof}, nil
		}
	}
	if a.oauth == nil {
		return caller{}, unauthorized(unknownToken, `, error="invalid_token"`)
	}
	id, err := a.oauth.Verify(ctx, token)
	if err != nil {
		return caller{}, a.refused(err)
	}
	return caller{principal: id.Principal, identity: id}, nil
}

// tokenless asks for a token.
func (a *authenticator) tokenless() *refusal {
	if a.oauth == nil {
		return unauthorized(noToken, "")
	}
	return refuse(http.StatusUnauthorized, noAccessToken).with("WWW-Authenticate", a.oauth.Challenge(nil))
}

// refused reports the refusal of an access token.
func (a *authenticator) refused(err error) *refusal {
	failure := oauth.FailureOf(err)
	status := http.StatusUnauthorized
	switch failure.Code {
	case oauth.Unavailable:
		return refuse(http.StatusServiceUnavailable, "%v", failure).with("Retry-After", "5")
	case oauth.InsufficientScope:
		status = http.StatusForbidden
	}
	return refuse(status, "%v", failure).with("WWW-Authenticate", a.oauth.Challenge(failure))
}

// challenge returns the value of WWW-Authenticate for a call that was refused for lack of a scope, "" for other responses
// and without sign-in, where no client could get one.
func (a *authenticator) challenge(granted []string, r *protocol.Response) string {
	if a.oauth == nil || len(r.Scopes) == 0 {
		return ""
	}
	failure := a.oauth.Missing(granted, r.Scopes)
	if failure == nil {
		return ""
	}
	return a.oauth.Challenge(failure)
}

func unauthorized(why, parameters string) *refusal {
	return refuse(http.StatusUnauthorized, "%s", why).
		with("WWW-Authenticate", `Bearer realm="sallyport"`+parameters)
}

// metadata serves the metadata of the protected resource, which pages of all sites may read. ok is false for other
// paths.
func (x *exchange) metadata() (f *refusal, ok bool) {
	resource := x.h.authenticator.oauth
	if resource == nil || !slices.Contains(resource.MetadataPaths(), x.r.URL.Path) {
		return nil, false
	}
	header := x.w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	switch x.r.Method {
	case http.MethodOptions:
		header.Set("Access-Control-Allow-Methods", "GET")
		header.Set("Access-Control-Allow-Headers", allowedHeaders(x.r.Header.Values("Access-Control-Request-Headers")))
		x.w.WriteHeader(http.StatusNoContent)
	case http.MethodGet, http.MethodHead:
		if f := x.h.admission.checkAddress(x.r); f != nil {
			return f, true
		}
		header.Set("Cache-Control", "max-age=300")
		writeJSON(x.w, http.StatusOK, resource.Metadata())
	default:
		return refuse(http.StatusMethodNotAllowed, "method %s is not served here", clip(x.r.Method)).with("Allow", "GET, HEAD, OPTIONS"), true
	}
	return nil, true
}
