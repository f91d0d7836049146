package streamable

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// sitePolicy refuses pages of other web sites.
type sitePolicy struct {
	origins []string // permitted, normalized
	// loopback means that clients connect to a loopback address themselves: pages of this machine are permitted, and
	// foreign host names are refused.
	loopback bool
}

func newSitePolicy(o *Options) sitePolicy {
	p := sitePolicy{loopback: o.loopback() && !o.BehindProxy}
	for _, origin := range o.Origins {
		p.origins = append(p.origins, normalOrigin(origin))
	}
	return p
}

// checkOrigin refuses pages of other sites. A browser sends the origin of the page with every such request. Programs
// send none.
func (p *sitePolicy) checkOrigin(w http.ResponseWriter, r *http.Request) *refusal {
	values := r.Header.Values("Origin")
	switch {
	case len(values) == 0:
		return nil
	case len(values) > 1 || !p.allows(values[0]):
		return refuse(http.StatusForbidden, "origin %q is not allowed (http.origins)", clip(values[0]))
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", values[0])
	header.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After")
	header.Add("Vary", "Origin")
	return nil
}

func (p *sitePolicy) allows(s string) bool {
	origin := normalOrigin(s)
	if origin == "" {
		return false
	}
	if slices.Contains(p.origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && p.loopback && isLoopback(u.Hostname())
}

// checkHost refuses foreign host names on a loopback listener, against DNS rebinding: a hostile site can resolve its
// own name to this machine, so that its pages have the same origin, but it cannot change the Host header.
func (p *sitePolicy) checkHost(r *http.Request) *refusal {
	if !p.loopback || isLoopback(hostname(r.Host)) {
		return nil
	}
	return refuse(http.StatusForbidden, "host %q is not this machine", clip(r.Host))
}

// hostname returns the Host header without port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// preflight answers a browser's CORS preflight request.
func preflight(w http.ResponseWriter, r *http.Request) *refusal {
	if r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return notAllowed(r)
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
	header.Set("Access-Control-Allow-Headers", allowedHeaders(r.Header.Values("Access-Control-Request-Headers")))
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
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
