package grant

import (
	"net/url"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// covers reports whether the line covers this request. u is canonical.
func (r *netRule) covers(method string, u *url.URL) bool {
	return r.coversOrigin(method, u) && r.path.match(pathSubject(u)) && r.coversQuery(method, u)
}

// coversOrigin is covers for the method, the origin and within, without path and query.
func (r *netRule) coversOrigin(method string, u *url.URL) bool {
	if r.url != nil || !r.coversWithin(u) {
		return false
	}
	port, _ := urlnorm.Port(u.Scheme, u.Port(), false)
	return slices.Contains(r.methods, method) && u.Scheme == r.scheme && port == r.port && r.coversHost(u.Hostname())
}

// denies reports whether a server may treat this request as one that the line covers: by any reading of its path, with
// or without a trailing slash, and by any parameter of its query that the line names. Texts are compared by their
// skeletons. A line with a lone ? covers every query.
func (r *netRule) denies(method string, u *url.URL) bool {
	return r.coversOrigin(method, u) && r.deniesPath(u) && r.deniesQuery(u)
}

// coversAlways is covers for every reading of the path that a server may have. A literal address is compared only as
// it is written.
func (r *netRule) coversAlways(method string, u *url.URL) bool {
	if !r.covers(method, u) || r.path.literal() {
		return r.covers(method, u)
	}
	readings := urlnorm.Readings(u.EscapedPath())
	return len(readings) < urlnorm.MaxReadings && !slices.ContainsFunc(readings, func(steps []string) bool { return !r.path.match(subject{steps: steps}) })
}

// coversWithin reports whether u matches within, to which an address of the call is limited.
func (r *netRule) coversWithin(u *url.URL) bool {
	return len(r.within) == 0 || slices.ContainsFunc(r.within, func(w netRule) bool { return w.covers("GET", u) })
}
