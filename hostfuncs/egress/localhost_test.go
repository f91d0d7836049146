package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"testing"
)

// answers is a resolver that gives each name the same addresses.
type answers []string

func (a answers) LookupNetIP(context.Context, string, string) (all []netip.Addr, err error) {
	for _, text := range a {
		all = append(all, netip.MustParseAddr(text))
	}
	return all, nil
}

// A name that ends in localhost leads to this machine alone, also if the operator names it, a resolver answers something
// else, or a proxy is set: what is sent there in plain text stays here.
func TestTransport_reachesByALocalhostNameThisMachineAlone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("answer")) }))
	defer server.Close()
	for _, tt := range []struct {
		host      string
		addresses answers
		opened    []string // addresses
	}{
		{"x.localhost", answers{"93.184.216.34"}, nil},
		{"x.localhost", answers{"10.1.2.3"}, nil},
		{"x.localhost", answers{"::ffff:169.254.169.254"}, nil},
		{"localhost", answers{"2606:4700::1111"}, nil},
		{"x.localhost", answers{"93.184.216.34", "127.0.0.1", "10.1.2.3"}, []string{"127.0.0.1:80"}},
		{"localhost", answers{"::1"}, []string{"[::1]:80"}},
	} {
		for _, proxy := range []*url.URL{nil, {Scheme: "http", Host: "proxy.example:3128"}} {
			var opened []string
			client := &http.Client{Transport: NewTransport(Options{
				Resolver: tt.addresses,
				Proxy:    func(*url.URL) (*url.URL, error) { return proxy, nil },
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					opened = append(opened, address)
					return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
				},
			}, tt.host+":80")}
			res, err := client.Get("http://" + tt.host + "/")
			var refused *AddressError
			if len(tt.opened) == 0 && (!errors.As(err, &refused) || !refused.Elsewhere()) || len(tt.opened) > 0 && err != nil || !slices.Equal(opened, tt.opened) {
				t.Errorf("%s at %v, proxy %v: got connections to %v, %v, want %v", tt.host, tt.addresses, proxy, opened, err, tt.opened)
			}
			if err == nil {
				res.Body.Close()
			}
		}
	}
}
