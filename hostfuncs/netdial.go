package hostfuncs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// maxAddresses is how many addresses of one name are tried.
const maxAddresses = 8

// dialer opens connections to addresses that it has looked at itself: the name is resolved here, each
// address is checked, and the connection goes to that very address, so that a name which means another
// one a moment later changes nothing.
type dialer struct {
	resolver Resolver
	open     func(ctx context.Context, network, address string) (net.Conn, error)
	ranges   table
	tls      *tls.Config // for proxies
	named    bool        // for hosts that a grant spells out
}

// addressError says that a host has no address that may be reached.
type addressError struct {
	host  string
	addr  netip.Addr // the first that was refused
	class class
}

// Error names the host and the use of its address.
func (e *addressError) Error() string {
	return fmt.Sprintf("%s has a %s address", e.host, e.class)
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
	if a, err := netip.ParseAddr(host); err == nil {
		return d.check(host, []netip.Addr{a}, d.named)
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

// check leaves out what may not be reached. exact says that a grant spells out the address itself.
func (d *dialer) check(host string, addrs []netip.Addr, exact bool) ([]netip.Addr, error) {
	var allowed []netip.Addr
	refused := &addressError{host: host, class: special}
	for _, a := range addrs {
		c := d.ranges.classify(a)
		if exact || d.lifts(host, c) {
			allowed = append(allowed, a)
		} else if !refused.addr.IsValid() {
			refused.addr, refused.class = a, c
		}
	}
	if len(allowed) == 0 && refused.addr.IsValid() {
		return nil, refused
	}
	if len(allowed) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return allowed, nil
}

// lifts reports whether a name may lead to addresses of a class. A name that a grant spells out may be
// one of a private network. Loopback needs its own name or address in the grant, and so does all else:
// whoever owns a name's zone can make it mean any address, and that is not the operator.
func (d *dialer) lifts(host string, c class) bool {
	switch c {
	case public:
		return true
	case private:
		return d.named
	case loopback:
		return d.named && isLocalhost(host)
	}
	return false
}

// refusal makes the error a denial, with the line that would allow it if an operator might want to: one
// that names the host for a private network, the address for this machine.
func (e *addressError) refusal(r *request) *refusal {
	u := *r.url
	hint := ""
	switch e.class {
	case loopback:
		u.Host = hostPort(e.addr, u.Port())
		hint = (*grant.Set)(nil).Net(r.method, &u).Suggest
	case private:
		hint = (*grant.Set)(nil).Net(r.method, &u).Suggest
	}
	verb := "leads to"
	if e.host == e.addr.String() {
		verb = "is"
	}
	return &refusal{reason: fmt.Sprintf("%s %s a %s address, which no grant names", e.host, verb, e.class), hint: hint}
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
