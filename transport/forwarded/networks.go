package forwarded

import (
	"fmt"
	"net/netip"
	"strings"
)

// Networks are ranges of addresses.
type Networks []netip.Prefix

// ParseNetworks reads ranges such as 10.0.0.0/8, and single addresses. Its error names the text.
func ParseNetworks(list []string) (Networks, error) {
	var n Networks
	for _, text := range list {
		prefix, err := parseNetwork(text)
		if err != nil {
			return nil, err
		}
		n = append(n, prefix)
	}
	return n, nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q is not a range of addresses, such as 10.0.0.0/8 or 192.0.2.1", text)
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q is not a range of addresses, such as 10.0.0.0/8 or 192.0.2.1", text)
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("%q is a range of IPv4 addresses: leave out its ::ffff: in front", text)
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("%q has bits after its length: write %s, or one address", text, prefix.Masked())
	}
	return prefix, nil
}

// Contains reports whether one of the ranges has addr. None has an invalid address.
func (n Networks) Contains(addr netip.Addr) bool {
	addr = plain(addr)
	for _, prefix := range n {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
