// Package forwarded finds the client of an HTTP request that may have come through proxies. Headers are believed only
// from proxies that the operator named: any other sender could write them.
//
//	proxies, err := forwarded.ParseNetworks([]string{"10.0.0.0/8"})
//	client := proxies.Client(r)
//	client.Addr  // the nearest address that is not a named proxy
package forwarded

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Client is the sender of a request.
type Client struct {
	// Addr is the address of the client: the nearest one that is no named proxy. It is invalid for the peer of a socket.
	Addr netip.Addr
	// Proto is https or http, as the client sent the request.
	Proto string
	// Host is the host as the client asked for it, with its port.
	Host string
	// Proxied is true if the peer is a named proxy.
	Proxied bool
	// Hidden is true if a named proxy forwards the request without an address of its sender that can be believed. Addr is
	// the proxy's then.
	Hidden bool
}

// maxHops bounds the addresses that are read of one header.
const maxHops = 32

// Client returns the client of r. The headers of a named proxy name it, and for other peers it is the peer.
func (n Networks) Client(r *http.Request) Client {
	c := Client{Addr: peer(r), Proto: "http", Host: r.Host}
	if r.TLS != nil {
		c.Proto = "https"
	}
	if !n.Contains(c.Addr) {
		return c
	}
	c.Proxied = true
	standard, other := parseForwarded(r.Header.Values("Forwarded")), parseOther(r.Header)
	switch {
	case len(standard) == 0:
		n.follow(&c, other)
	case len(other) == 0:
		n.follow(&c, standard)
	default:
		n.agreed(&c, standard, other)
	}
	return c
}

// agreed applies two kinds of headers if both name one client. A proxy that writes one of them may pass on the other one
// as the client wrote it, so that neither counts where they differ.
func (n Networks) agreed(c *Client, standard, other []hop) {
	a, b := *c, *c
	n.follow(&a, standard)
	n.follow(&b, other)
	c.Hidden = a.Addr != b.Addr
	if !c.Hidden {
		*c = b
		c.Hidden = a.Hidden || b.Hidden
		if a.Proto != b.Proto || a.Host != b.Host {
			c.Proto, c.Host = "", ""
		}
	}
}

// follow walks from the peer to the client, and stops at the first address that is not a named proxy, and at one that
// cannot be read: a proxy vouches only for the hop before it.
func (n Networks) follow(c *Client, hops []hop) {
	for i := len(hops) - 1; i >= 0 && n.Contains(c.Addr); i-- {
		h := hops[i]
		if h.proto != "" {
			c.Proto = h.proto
		}
		if h.host != "" {
			c.Host = h.host
		}
		if c.Hidden = !h.addr.IsValid(); c.Hidden {
			return
		}
		c.Addr = h.addr
	}
}

// peer returns the address of the other end of the connection.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return parseAddr(host)
}

// hop is one entry of a header.
type hop struct {
	addr        netip.Addr
	proto, host string
}

// parseOther reads X-Forwarded-For, and for the last hop X-Forwarded-Proto and X-Forwarded-Host.
func parseOther(h http.Header) (hops []hop) {
	for _, text := range last(h.Values("X-Forwarded-For")) {
		hops = append(hops, hop{addr: parseNode(text)})
	}
	proto, host := last(h.Values("X-Forwarded-Proto")), last(h.Values("X-Forwarded-Host"))
	if len(hops) == 0 && len(proto)+len(host) > 0 {
		hops = []hop{{}}
	}
	if len(proto) > 0 {
		hops[len(hops)-1].proto = parseProto(proto[len(proto)-1])
	}
	if len(host) > 0 {
		hops[len(hops)-1].host = parseHost(host[len(host)-1])
	}
	return hops
}

// last returns the last members of a header that is a list, in their order.
func last(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	all := strings.Split(strings.Join(values, ","), ",")
	if len(all) > maxHops {
		all = all[len(all)-maxHops:]
	}
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

func parseProto(s string) string {
	if s = strings.ToLower(s); s == "http" || s == "https" {
		return s
	}
	return ""
}

// parseHost returns a host with an optional port, and "" for anything else.
func parseHost(s string) string {
	name := s
	if host, port, err := net.SplitHostPort(s); err == nil {
		if port == "" || strings.Trim(port, "0123456789") != "" {
			return ""
		}
		name = host
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	}
	if len(s) > 261 || name == "" { // 255 of a name and 6 of a port
		return ""
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return s
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return ""
		}
	}
	return s
}

// parseNode reads an address, with or without a port; IPv6 with a port is in brackets.
func parseNode(s string) netip.Addr {
	if addr, err := netip.ParseAddrPort(s); err == nil {
		return plain(addr.Addr())
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return netip.Addr{}
		}
		s = inner
	}
	return parseAddr(s)
}

// parseAddr reads an address, and returns an invalid one for any other text.
func parseAddr(s string) netip.Addr {
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return plain(addr)
}

// plain returns IPv4 as itself, and IPv6 without its zone.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
