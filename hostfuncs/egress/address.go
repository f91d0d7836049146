package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// Class is the class of a network address, by the networks that it can be reached from.
type Class string

// Classes of addresses. All but Public and Private are reached only by their own name or address, if at all.
const (
	Public    Class = ""
	Loopback  Class = "loopback"
	Private   Class = "private"    // a network behind a router: of a home, a company, a carrier
	LinkLocal Class = "link-local" // includes the metadata services of most clouds
	Multicast Class = "multicast"  // many machines at once
	Special   Class = "special"    // reserved, for documentation and benchmarks, unspecified
	Embedded  Class = "translated" // an IPv4 address inside an IPv6 address
	Metadata  Class = "metadata"   // metadata service of a cloud, outside link-local
)

// block is a range of addresses of one class.
type block struct {
	prefix string
	class  Class
}

// blocks returns the ranges that are not public, from IANA's special-purpose registries. The first one that contains
// an address applies.
func blocks() []block {
	return []block{
		{"0.0.0.0/8", Special},
		{"10.0.0.0/8", Private},
		{"100.100.100.200/32", Metadata}, // Alibaba Cloud
		{"100.64.0.0/10", Private},
		{"127.0.0.0/8", Loopback},
		{"168.63.129.16/32", Metadata}, // Azure
		{"169.254.0.0/16", LinkLocal},
		{"172.16.0.0/12", Private},
		{"192.0.0.192/32", Metadata}, // Oracle Cloud, Classic
		{"192.0.0.0/24", Special},
		{"192.0.2.0/24", Special},
		{"192.88.99.0/24", Special},
		{"192.168.0.0/16", Private},
		{"198.18.0.0/15", Special},
		{"198.51.100.0/24", Special},
		{"203.0.113.0/24", Special},
		{"224.0.0.0/4", Multicast},
		{"240.0.0.0/4", Special},
		{"::1/128", Loopback},
		{"::ffff:0:0/96", Embedded},
		{"::/96", Special},
		{"64:ff9b::/96", Embedded},
		{"64:ff9b:1::/48", Embedded},
		{"fd00:c1::a9fe:a9fe/128", Metadata}, // Oracle Cloud
		{"fd00:42::42/128", Metadata},        // Scaleway
		{"fd00:ec2::/32", Metadata},          // AWS
		{"fd20:ce::254/128", Metadata},       // Google Cloud
		{"fc00::/7", Private},
		{"fe80::/10", LinkLocal},
		{"fec0::/10", Private},
		{"ff00::/8", Multicast},
		{"2001::/23", Special},
		{"2001:db8::/32", Special},
		{"2002::/16", Embedded},
		{"3fff::/20", Special},
	}
}

// table contains the parsed blocks.
type table []struct {
	prefix netip.Prefix
	class  Class
}

func newTable() table {
	t := make(table, 0, len(blocks()))
	for _, b := range blocks() {
		t = append(t, struct {
			prefix netip.Prefix
			class  Class
		}{netip.MustParsePrefix(b.prefix), b.class})
	}
	return t
}

// classify returns the class of an address. IPv6 addresses outside 2000::/3 are not in use, and Special.
func (t table) classify(a netip.Addr) Class {
	for _, b := range t {
		if holds(b.prefix, a) {
			return b.class
		}
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return Special
	}
	return Public
}

// classOf returns the class of a host by its name alone, without resolving it. Most names are Public.
func (t table) classOf(host string) Class {
	if a, err := netip.ParseAddr(host); err == nil {
		return t.classify(a)
	}
	if isLocalhost(host) {
		return Loopback
	}
	return Public
}

// isLocalhost reports whether a name means this machine by definition (RFC 6761, section 6.3).
func isLocalhost(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// isLocalName reports whether a name is resolved in the local network: it has one label, or a suffix that no registry
// sells.
func isLocalName(host string) bool {
	if isLocalhost(host) {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == host || strings.HasSuffix(host, ".home.arpa") || slices.Contains([]string{
		"local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private",
	}, last)
}

// holds is Contains for addresses that may be IPv4 in IPv6, which match only a prefix of that form.
func holds(p netip.Prefix, a netip.Addr) bool {
	if !a.Is4In6() {
		return p.Contains(a)
	}
	return p.Addr().Is4In6()
}
