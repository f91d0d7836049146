package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
)

// maxAddresses is how many addresses of one name are tried.
const maxAddresses = 8

// Resolver finds the addresses of a host name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// dialer opens connections to addresses that it has looked at itself: the name is resolved here, each
// address is checked, and the connection goes to that very address, so that a name which means another
// one a moment later changes nothing.
type dialer struct {
	resolver Resolver
	open     func(ctx context.Context, network, address string) (net.Conn, error)
	ranges   table
	tls      *tls.Config // for proxies
	reach    Reach
}

// Reach is what the grant of a request says about where its host may lead.
type Reach struct {
	Named   bool // it spells the host out
	Private bool // it says that this host is in a private network, or one of a machine's own
}

// AddressError says that a host has no address that may be reached.
type AddressError struct {
	Host  string
	Addr  netip.Addr // the first that was refused
	Class Class
}

// Error says where the host leads to, or that it is such an address.
func (e *AddressError) Error() string {
	verb := "leads to"
	if e.Host == e.Addr.String() {
		verb = "is"
	}
	return fmt.Sprintf("%s %s a %s address", e.Host, verb, e.Class)
}

// At is the URL with the refused address in place of its host, which is what would have to be allowed to reach
// this machine.
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
		conn, err := d.connect(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// connect opens a connection to an address that was checked, through the proxy of the request if it has
// one.
func (d *dialer) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if proxy := proxyFrom(ctx); proxy != nil {
		return d.tunnel(ctx, proxy, address)
	}
	return d.open(ctx, network, address)
}

// resolve returns the addresses of a host that may be reached.
func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addrs, err := d.spelled(host); addrs != nil || err != nil {
		return addrs, err
	}
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap() // how resolvers write IPv4; checked as what it is
	}
	return d.check(host, addrs, false)
}

// spelled checks a host that is an address; a name has none here, which is no error.
func (d *dialer) spelled(host string) ([]netip.Addr, error) {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return nil, nil
	}
	return d.check(host, []netip.Addr{a}, d.reach.Named)
}

// foresee checks a host as far as it is known without a resolver: an address, a name of this machine, and any name
// with the address that it was found to have, which is not valid if nobody looked.
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

// check leaves out what may not be reached. exact says that a grant spells out the address itself.
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

// liftsExact reports whether an address that a grant spells out may be reached: of a private network or of this machine
// it may, and one that is reserved; link-local, metadata and translated ones only if the grant says so, since nobody
// means them by accident.
func (d *dialer) liftsExact(c Class) bool {
	return c == Public || c == Private || c == Loopback || c == Special || d.reach.Private
}

// lifts reports whether a name may lead to addresses of a class. A name that a grant spells out may be
// one of a private network if the grant says so. Loopback needs its own name or address in the grant, and so does all
// else: whoever owns a name's zone can make it mean any address, and that is not the operator.
func (d *dialer) lifts(host string, c Class) bool {
	switch c {
	case Public:
		return true
	case Private:
		return d.reach.Named && d.reach.Private
	case Loopback:
		return d.reach.Named && isLocalhost(host)
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
