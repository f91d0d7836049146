package streamable

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// origin refuses pages of other sites. A browser sends the origin of the page with every such request. Programs send
// none.
func (x *exchange) origin() *refusal {
	values := x.r.Header.Values("Origin")
	switch {
	case len(values) == 0:
		return nil
	case len(values) > 1 || !x.h.allowsOrigin(values[0]):
		return refuse(http.StatusForbidden, "origin %q is not allowed (http.origins)", clip(values[0]))
	}
	header := x.w.Header()
	header.Set("Access-Control-Allow-Origin", values[0])
	header.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After")
	header.Add("Vary", "Origin")
	return nil
}

func (h *Handler) allowsOrigin(s string) bool {
	origin := normalOrigin(s)
	if origin == "" {
		return false
	}
	if slices.Contains(h.origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && h.checkHost && isLoopback(u.Hostname())
}

// host refuses foreign host names on a loopback listener, against DNS rebinding: a hostile site can resolve its own
// name to this machine, so that its pages have the same origin, but it cannot change the Host header.
func (x *exchange) host() *refusal {
	if !x.h.checkHost || isLoopback(hostname(x.r.Host)) {
		return nil
	}
	return refuse(http.StatusForbidden, "host %q is not this machine", clip(x.r.Host))
}

// hostname returns the Host header without port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// preflight answers a browser's CORS preflight request.
func (x *exchange) preflight() *refusal {
	if x.r.Header.Get("Origin") == "" || x.r.Header.Get("Access-Control-Request-Method") == "" {
		return x.notAllowed()
	}
	header := x.w.Header()
	header.Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
	header.Set("Access-Control-Allow-Headers", allowedHeaders(x.r.Header.Values("Access-Control-Request-Headers")))
	header.Set("Access-Control-Max-Age", "600")
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}

// allowedHeaders keeps the requested headers that are used here.
func allowedHeaders(requested []string) string {
	var kept []string
	for name := range strings.SplitSeq(strings.Join(requested, ","), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch name {
		case "accept", "authorization", "content-type", "last-event-id", "traceparent", "tracestate", "baggage":
			kept = append(kept, name)
		default:
			if strings.HasPrefix(name, "mcp-") && isToken(name) {
				kept = append(kept, name)
			}
		}
	}
	return strings.Join(kept, ", ")
}

// isToken reports whether s is a valid name for the headers used here.
func isToken(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// maxClip bounds the client's text in an error, in bytes.
const maxClip = 100

func clip(s string) string {
	if len(s) > maxClip {
		return s[:maxClip] + "…"
	}
	return s
}
