package grant

import (
	"net/url"
	"slices"
	"strings"
)

func (r *netRule) follows(method string, origin, u *url.URL) bool {
	if !r.origin || !slices.Contains(r.methods, method) || !r.coversWithin(u) || u.Scheme == "http" && origin.Scheme == "https" {
		return false
	}
	if !slices.ContainsFunc(r.methods, func(m string) bool { return r.covers(m, origin) }) {
		return false
	}
	return r.public || sameSite(origin.Hostname(), u.Hostname()) && standardPort(origin, u)
}

// sameSite reports whether two hosts differ at most by a leading www.
func sameSite(a, b string) bool {
	return strings.TrimPrefix(a, "www.") == strings.TrimPrefix(b, "www.")
}

// standardPort reports whether u has the origin's port, or the default one of its scheme.
func standardPort(origin, u *url.URL) bool {
	return u.Port() == origin.Port() || u.Port() == ""
}
