package grant

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Includes reports whether the set allows all effects of a line that names one path, or one request without wildcards
// and bindings, for every entry of the plugin. Other lines are included only if the set contains them verbatim. It is
// false in case of doubt, since a redundant line does no harm.
func (s *Set) Includes(g Grant) bool {
	for _, own := range s.all() {
		if own.String() == g.String() {
			return true
		}
	}
	wide := &Set{ceiling: s.ceilings(), lines: slices.DeleteFunc(s.Lines(), func(own Grant) bool { return !own.Deny && len(own.For)+len(own.Who) > 0 })}
	switch {
	case g.Deny || g.Ask || len(g.For) > 0 || len(g.written()) > 0:
		return false
	case g.Family == FS:
		return g.fs().includedIn(wide)
	case g.Family == Net:
		return g.net().includedIn(wide)
	}
	return false
}

// includedIn reports whether a set allows all effects of the line. It compares lines with ~ as if the home were a folder
// that no other line names.
func (r *fsRule) includedIn(s *Set) bool {
	if r.base != "" || !r.path.literal() {
		return false
	}
	p := Places{Home: "/~"}
	d := s.Files(p).Decide(r.op, r.prefix(p.Home))
	return d.Allowed && d.Quota == 0 && d.Files == 0 && !(d.Direct && r.op == Write) // not committed atomically
}

func (r *netRule) includedIn(s *Set) bool {
	address := r.address()
	if len(r.methods) != 1 || r.url != nil || !r.host.literal() || !r.path.literal() || strings.ContainsAny(address, "*{}") {
		return false
	}
	u, err := url.Parse(address)
	anyValue := func(p param) bool { return p.value == nil }
	if err != nil || slices.ContainsFunc(r.query, anyValue) {
		return false
	}
	d := s.Net(r.methods[0], u)
	if d.Grant != nil && d.Grant.net().limited && !r.limited { // r allows any query
		return false
	}
	return d.Allowed && d.Body == 0 && (d.Named || !inside(u.Hostname()))
}

// inside reports whether a host is literally an IP address or a localhost name, which wildcards in a host do not
// match.
func inside(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
