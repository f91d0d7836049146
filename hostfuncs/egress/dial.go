package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
)

// maxAddresses is the maximum number of addresses of one name that are tried.
const maxAddresses = 8

// Resolver resolves host names. It is implemented by *net.Resolver.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// dialer opens connections to addresses that it has checked: it resolves the name, checks each address, and connects
// to that address, so that DNS rebinding has no effect.
type dialer struct {
	resolver Resolver
	open     func(ctx context.Context, network, address string) (net.Conn, error)
	ranges   table
	tls      *tls.Config // for proxies
	reach    Reach
}

// Reach is the part of a grant that limits the addresses of a host. See lifts and liftsExact.
type Reach struct {
	Named   bool // the grant names the host literally
	Private bool // the grant says private
}

// AddressError means that a host has no address that may be reached.
type AddressError struct {
	Host  string
	Addr  netip.Addr // first denied address
	Class Class
}

// Error returns the host and the class of its address.
func (e *AddressError) Error() string {
	verb := "leads to"
	switch {
	case e.Elsewhere():
		return fmt.Sprintf("%s is a name of this machine, and leads to a %s address", e.Host, cmp.Or(e.Class, "public"))
	case e.Host == e.Addr.String():
		verb = "is"
	}
	return fmt.Sprintf("%s %s a %s address", e.Host, verb, e.Class)
}

// Elsewhere reports whether the host is a name of this machine, which no grant opens for an address of another one.
func (e *AddressError) Elsewhere() bool { return isLocalhost(e.Host) && e.Class != Loopback }

// At returns the URL with the denied address in place of its host, which would have to be granted to reach this
// machine.
func (e *AddressError) At(u *url.URL) *url.URL {
	at := *u
	at.Host = hostPort(e.Addr, u.Port())
	return &at
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, a := range addrs[:min(len(addrs), maxAddresses)] {
		conn, err := d.connect(ctx, network, a, port)
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// connect opens a connection to a checked address, through the proxy of the request if there is one. This machine is never
// reached through a proxy, for which the address is its own machine.
func (d *dialer) connect(ctx context.Context, network string, a netip.Addr, port string) (net.Conn, error) {
	address := net.JoinHostPort(a.String(), port)
	if proxy := proxyFrom(ctx); proxy != nil && !a.IsLoopback() {
		return d.tunnel(ctx, proxy, address)
	}
	return d.open(ctx, network, address)
}

// resolve returns the allowed addresses of a host.
func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addrs, err := d.spelled(host); addrs != nil || err != nil {
		return addrs, err
	}
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap() // resolvers return IPv4 in IPv6; it is checked as IPv4
	}
	return d.check(host, addrs, false)
}

// spelled checks a host that is an address. For a name it returns no addresses and no error.
func (d *dialer) spelled(host string) ([]netip.Addr, error) {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return nil, nil
	}
	return d.check(host, []netip.Addr{a}, d.reach.Named)
}

// foresee checks a host without a resolver: an address, a name of this machine, or a name with the address that it
// resolved to before, if that is valid.
func (d *dialer) foresee(host string, found netip.Addr) error {
	if addrs, err := d.spelled(host); addrs != nil || err != nil {
		return err
	}
	if !found.IsValid() && isLocalhost(host) {
		found = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if !found.IsValid() {
		return nil
	}
	_, err := d.check(host, []netip.Addr{found}, false)
	return err
}

// check returns the allowed addresses. exact means that a grant names the address itself.
func (d *dialer) check(host string, addrs []netip.Addr, exact bool) ([]netip.Addr, error) {
	var allowed []netip.Addr
	refused := &AddressError{Host: host, Class: Special}
	for _, a := range addrs {
		c := d.ranges.classify(a)
		if exact && d.liftsExact(c) || d.lifts(host, c) {
			allowed = append(allowed, a)
		} else if !refused.Addr.IsValid() {
			refused.Addr, refused.Class = a, c
		}
	}
	if len(allowed) == 0 && refused.Addr.IsValid() {
		return nil, refused
	}
	if len(allowed) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return allowed, nil
}

// liftsExact reports whether an address that a grant names literally may be reached: a private, loopback or reserved
// one may. Link-local, metadata and translated ones need private in the grant, since they are rarely intended.
func (d *dialer) liftsExact(c Class) bool {
	return c == Public || c == Private || c == Loopback || c == Special || d.reach.Private
}

// lifts reports whether a name may resolve to addresses of a class. A name that a grant contains literally may be in a
// private network if the grant says private. Loopback needs its own name or address in the grant, and so do all other
// classes: the owner of a DNS zone, who is not the operator, can point its names at any address. The names below localhost
// are those of this machine alone, also where a resolver answers something else.
func (d *dialer) lifts(host string, c Class) bool {
	if isLocalhost(host) {
		return c == Loopback && d.reach.Named
	}
	switch c {
	case Public:
		return true
	case Private:
		return d.reach.Named && d.reach.Private
	}
	return false
}

func hostPort(a netip.Addr, port string) string {
	if port != "" {
		return net.JoinHostPort(a.String(), port)
	}
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}
