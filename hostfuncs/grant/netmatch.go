package grant

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// coversNet reports whether the line covers this request. A deny line also covers an address that a server may treat
// as one that it names.
func (g *Grant) coversNet(method string, u *url.URL) bool {
	if g.Deny {
		return g.net().denies(method, u)
	}
	return g.net().covers(method, u)
}

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

// misread records how servers may read an address that a deny line covers only in a different reading.
func (d *Decision) misread(method string, u *url.URL) {
	if d.Grant == nil || !d.Grant.Deny || d.Grant.net().covers(method, u) {
		return
	}
	d.Misread = "as servers may read it"
	if c := cmp.Or(urlnorm.Unclear(u.EscapedPath()), urlnorm.Unclear(u.RawQuery)); c != "" {
		d.Misread += ", some of which leave " + c + " out or take it for another character"
	}
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

// Net decides on one request. u must come from urlnorm.URL, and method must be in upper case.
func (s *Set) Net(method string, u *url.URL) Decision {
	d := s.decide(Net, func(g *Grant) bool { return g.coversNet(method, u) })
	d.misread(method, u)
	if !d.Beyond && (d.Grant == nil || !d.Grant.Deny) && !s.ceilingsName(method, u) {
		return Decision{Beyond: true, SpellOut: true}
	}
	if d.Allowed {
		s.withinNames(&d, u)
	}
	if d.Grant == nil && !d.Beyond {
		d.Suggest = suggestNet(method, u)
		d.Wild, d.Turned = s.wild(method, u), s.turned(method, u)
	}
	return d
}

// ceilingsName reports whether every ceiling contains an address literally, if it must be literal in a line.
func (s *Set) ceilingsName(method string, u *url.URL) bool {
	return len(s.ceilings()) == 0 || !near(u.Hostname()) || !slices.ContainsFunc(s.ceilings(), func(c *Set) bool {
		return !c.own(Net, func(g *Grant) bool { return g.coversNet(method, u) }).Named
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

// wild reports whether lines with wildcards in their hosts cover the host of an address, and no line names it with its
// port.
func (s *Set) wild(method string, u *url.URL) (wild bool) {
	port, _ := urlnorm.Port(u.Scheme, u.Port(), false)
	for _, g := range s.all() {
		if g.Family != Net || g.Deny || !g.net().coversHost(u.Hostname()) {
			continue
		}
		if r := g.net(); r.named() && r.scheme == u.Scheme && r.port == port {
			return false
		}
		wild = wild || !g.net().named() && slices.Contains(g.net().methods, method)
	}
	return wild
}

// turned reports whether a line with any query covers an address except for its query.
func (s *Set) turned(method string, u *url.URL) bool {
	bare := *u
	bare.RawQuery = ""
	return u.RawQuery != "" && slices.ContainsFunc(s.all(), func(g Grant) bool {
		return g.Family == Net && !g.Deny && !g.net().limited && g.net().covers(method, &bare)
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

func literals(steps []string) pattern {
	p := make(pattern, len(steps))
	for i, s := range steps {
		p[i] = segment{glob: glob{s}}
	}
	return p
}
