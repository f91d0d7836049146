package hostfuncs

import (
	"net/netip"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// class is what a network address is for, as far as it matters who may reach it.
type class string

const (
	public    class = ""
	loopback  class = "loopback"
	private   class = "private"    // networks behind a router: of a home, a company, a carrier
	linkLocal class = "link-local" // also where clouds keep the metadata of a machine
	multicast class = "multicast"  // many machines at once
	special   class = "special"    // reserved, for examples and measurements, unspecified
	embedded  class = "translated" // an IPv4 address inside an IPv6 one
	metadata  class = "metadata"   // public by number, but answered by the cloud
)

// block is a range of addresses with one use.
type block struct {
	prefix string
	class  class
}

// blocks are the ranges that are not public, from IANA's special-purpose registries. The first that
// holds an address decides.
func blocks() []block {
	return []block{
		{"0.0.0.0/8", special},
		{"10.0.0.0/8", private},
		{"100.64.0.0/10", private},
		{"127.0.0.0/8", loopback},
		{"168.63.129.16/32", metadata},
		{"169.254.0.0/16", linkLocal},
		{"172.16.0.0/12", private},
		{"192.0.0.0/24", special},
		{"192.0.2.0/24", special},
		{"192.88.99.0/24", special},
		{"192.168.0.0/16", private},
		{"198.18.0.0/15", special},
		{"198.51.100.0/24", special},
		{"203.0.113.0/24", special},
		{"224.0.0.0/4", multicast},
		{"240.0.0.0/4", special},
		{"::1/128", loopback},
		{"::ffff:0:0/96", embedded},
		{"::/96", special},
		{"64:ff9b::/96", embedded},
		{"64:ff9b:1::/48", embedded},
		{"fd00:ec2::/32", metadata},
		{"fc00::/7", private},
		{"fe80::/10", linkLocal},
		{"fec0::/10", private},
		{"ff00::/8", multicast},
		{"2001::/23", special},
		{"2001:db8::/32", special},
		{"2002::/16", embedded},
		{"3fff::/20", special},
	}
}

// table is blocks, parsed.
type table []struct {
	prefix netip.Prefix
	class  class
}

func newTable() table {
	t := make(table, 0, len(blocks()))
	for _, b := range blocks() {
		t = append(t, struct {
			prefix netip.Prefix
			class  class
		}{netip.MustParsePrefix(b.prefix), b.class})
	}
	return t
}

// classify finds what an address is for. IPv6 addresses outside 2000::/3 are not in use, and special.
func (t table) classify(a netip.Addr) class {
	for _, b := range t {
		if holds(b.prefix, a) {
			return b.class
		}
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return special
	}
	return public
}

// near explains why a line with stars in its host covers neither this machine nor its network.
func (t table) near(host string, d grant.Decision) string {
	a, err := netip.ParseAddr(host)
	c := t.classify(a)
	if err != nil {
		if c = public; isLocalhost(host) {
			c = loopback
		}
	}
	if !d.Wild || c == public {
		return ""
	}
	return ": " + host + " is a " + string(c) + " address, which a line has to name, with its port"
}

// isLocalhost reports whether a name means this machine by definition (RFC 6761, section 6.3).
func isLocalhost(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// holds is Contains for addresses that may be IPv4 in IPv6, which it takes as what they are written.
func holds(p netip.Prefix, a netip.Addr) bool {
	if !a.Is4In6() {
		return p.Contains(a)
	}
	return p.Addr().Is4In6()
}
