package grant

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// request is the request of a decision.
type request struct {
	method string
	url    *url.URL // canonical
}

// Net decides on one request. u must come from urlnorm.URL, and method must be in upper case.
func (s *Set) Net(method string, u *url.URL) Decision {
	r := request{method, u}
	d := s.decide(Net, r.coveredBy)
	r.misread(&d)
	if !d.Beyond && (d.Grant == nil || !d.Grant.Deny) && !r.namedByCeilings(s) {
		return Decision{Beyond: true, SpellOut: true}
	}
	if d.Allowed {
		r.nameWithin(&d, s)
	}
	if d.Grant == nil && !d.Beyond {
		d.Suggest = suggestNet(method, u)
		d.Wild, d.Turned = r.wild(s), r.turned(s)
	}
	return d
}

// Redirect decides on the target of a redirect, in response to an allowed request for origin. A line filled with a
// whole address of the call follows redirects within the same host or its www. prefix or, with redirects: public, to
// any public address. Both addresses are canonical.
func (s *Set) Redirect(method string, origin, u *url.URL) Decision {
	d, r := s.Net(method, u), request{method, u}
	if d.Grant != nil || s.all().decide(Net, r.coveredBy).Grant != nil {
		return d
	}
	follow := s.decide(Net, func(g *Grant) bool { return g.net().follows(method, origin, u) })
	if follow.Grant == nil {
		return d
	}
	follow.Named, follow.Private = false, false
	r.nameWithin(&follow, s)
	return follow
}

// coveredBy reports whether a line covers the request. A deny line also covers an address that a server may treat
// as one that it names.
func (r request) coveredBy(g *Grant) bool {
	if g.Deny {
		return g.net().denies(r.method, r.url)
	}
	return g.net().covers(r.method, r.url)
}

// misread records how servers may read the address that a deny line covers only in a different reading.
func (r request) misread(d *Decision) {
	if d.Grant == nil || !d.Grant.Deny || d.Grant.net().covers(r.method, r.url) {
		return
	}
	d.Misread = "as servers may read it"
	if c := cmp.Or(urlnorm.Unclear(r.url.EscapedPath()), urlnorm.Unclear(r.url.RawQuery)); c != "" {
		d.Misread += ", some of which leave " + c + " out or take it for another character"
	}
}

// namedByCeilings reports whether every ceiling of a set contains the address literally, if it must be literal in a line.
func (r request) namedByCeilings(s *Set) bool {
	return len(s.ceilings()) == 0 || !near(r.url.Hostname()) || !slices.ContainsFunc(s.ceilings(), func(c *Set) bool {
		return !c.all().decide(Net, r.coveredBy).Named
	})
}

// near reports whether a host is literally this machine or an address of its network.
func near(host string) bool {
	a, err := netip.ParseAddr(host)
	if a = a.Unmap(); err == nil {
		return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified()
	}
	return inside(host)
}

// wild reports whether lines of a set with wildcards in their hosts cover the host of the address, and no line names it
// with its port.
func (r request) wild(s *Set) (wild bool) {
	port, _ := urlnorm.Port(r.url.Scheme, r.url.Port(), false)
	for _, g := range s.all() {
		if g.Family != Net || g.Deny || !g.net().coversHost(r.url.Hostname()) {
			continue
		}
		if own := g.net(); own.named() && own.scheme == r.url.Scheme && own.port == port {
			return false
		}
		wild = wild || !g.net().named() && slices.Contains(g.net().methods, r.method)
	}
	return wild
}

// turned reports whether a line of a set with any query covers the address except for its query.
func (r request) turned(s *Set) bool {
	bare := *r.url
	bare.RawQuery = ""
	return r.url.RawQuery != "" && slices.ContainsFunc(s.all(), func(g Grant) bool {
		return g.Family == Net && !g.Deny && !g.net().limited && g.net().covers(r.method, &bare)
	})
}

// nameWithin records in a decision whether a pattern in within contains the host of the address literally.
func (r request) nameWithin(d *Decision, s *Set) {
	for i := range s.all() {
		g := &s.lines[i]
		line := g.net()
		if line == nil || !line.origin || g.Deny {
			continue
		}
		names := slices.ContainsFunc(line.within, func(w netRule) bool { return w.named() && w.covers("GET", r.url) })
		d.Named, d.Private = d.Named || names, d.Private || names && line.private && r.privateInCeilings(s)
	}
}

// privateInCeilings reports whether every ceiling of a set allows the host of the address to be in a private network.
func (r request) privateInCeilings(s *Set) bool {
	return !slices.ContainsFunc(s.ceilings(), func(c *Set) bool {
		return !slices.ContainsFunc(c.all(), func(g Grant) bool {
			own := g.net()
			return own != nil && !g.Deny && own.private && own.covers(own.methods[0], r.url)
		})
	})
}

// SuggestPrivate returns the narrowest line for one request to a host in a private network; empty if no line would
// allow it.
func (s *Set) SuggestPrivate(method string, u *url.URL) string {
	rule := ruleFor(method, u)
	rule.private = true
	g := Grant{Family: Net, rule: &rule}
	if d := s.With(g).Net(method, u); !d.Allowed || !d.Private {
		return ""
	}
	return Quote(g.String())
}

// suggestNet returns the line for this one address, empty if none would allow it.
func suggestNet(method string, u *url.URL) string {
	rule := ruleFor(method, u)
	line := Quote(Grant{Family: Net, rule: &rule}.String())
	g, err := ParseLine(line)
	if err != nil || !g.net().covers(method, u) {
		return ""
	}
	return line
}

// ruleFor returns the rule that covers only one address.
func ruleFor(method string, u *url.URL) netRule {
	return netRule{methods: []string{method}, urlPattern: patternOf(u)}
}
