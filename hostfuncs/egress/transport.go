package egress

import (
	"context"
	"net"
	"net/http"
	"slices"
)

// Transport sends the requests of the operator's own commands. A host that the operator named, with its port, may be on
// any network. All others, such as the targets of its redirects, have to be public, as for a plugin. It is safe for
// concurrent use.
type Transport struct {
	client *Client
	base   *http.Transport
}

// NewTransport returns a Transport for the named hosts, each "host:port".
func NewTransport(o Options, named ...string) *Transport {
	c := NewClient(o)
	open, own := c.dialer(Reach{}), c.dialer(Reach{Named: true, Private: true})
	base := c.newTransport(use{})
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if slices.Contains(named, address) {
			return own.dial(ctx, network, address)
		}
		return open.dial(ctx, network, address)
	}
	return &Transport{client: c, base: base}
}

// RoundTrip sends one request. The error of a refused address is an *AddressError.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := t.client.Proxy(r.URL)
	if err != nil {
		return nil, err
	}
	if proxy != nil {
		r = r.WithContext(withProxy(r.Context(), proxy))
	}
	return t.base.RoundTrip(r)
}

// CloseIdleConnections closes the unused connections.
func (t *Transport) CloseIdleConnections() { t.base.CloseIdleConnections() }
