package grant

import (
	"net/url"
	"slices"
	"strings"
)

// Redirect decides on the target of a redirect, in response to an allowed request for origin. A line filled with a
// whole address of the call follows redirects within the same host or its www. prefix or, with redirects: public, to
// any public address. Both addresses are canonical.
func (s *Set) Redirect(method string, origin, u *url.URL) Decision {
	d := s.Net(method, u)
	if d.Grant != nil || s.own(Net, func(g *Grant) bool { return g.coversNet(method, u) }).Grant != nil {
		return d
	}
	follow := s.decide(Net, func(g *Grant) bool { return g.net().follows(method, origin, u) })
	if follow.Grant == nil {
		return d
	}
	follow.Named, follow.Private = false, false
	s.withinNames(&follow, u)
	return follow
}

// withinNames records in a decision whether a pattern in within contains the host of u literally.
func (s *Set) withinNames(d *Decision, u *url.URL) {
	for i := range s.all() {
		g := &s.grants[i]
		r := g.net()
		if r == nil || !r.origin || g.Deny {
			continue
		}
		names := slices.ContainsFunc(r.within, func(w netRule) bool { return w.named() && w.covers("GET", u) })
		d.Named, d.Private = d.Named || names, d.Private || names && r.private && s.ceilingsLetIn(u)
	}
}

// ceilingsLetIn reports whether every ceiling allows the host of an address to be in a private network.
func (s *Set) ceilingsLetIn(u *url.URL) bool {
	return !slices.ContainsFunc(s.ceilings(), func(c *Set) bool {
		return !slices.ContainsFunc(c.all(), func(g Grant) bool {
			r := g.net()
			return r != nil && !g.Deny && r.private && r.covers(r.methods[0], u)
		})
	})
}

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
