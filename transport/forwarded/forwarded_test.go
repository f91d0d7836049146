package forwarded

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// proxied is a request from a proxy at 10.0.0.1.
func proxied(header string) *http.Request { return from("10.0.0.1:4711", header) }

// from makes a request with headers, a line each.
func from(peer, header string) *http.Request {
	r := &http.Request{RemoteAddr: peer, Host: "inside:8470", Header: http.Header{}}
	for line := range strings.Lines(header) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		r.Header.Add(key, value)
	}
	return r
}

func networks(t *testing.T, list ...string) Networks {
	t.Helper()
	n, err := ParseNetworks(list)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestClient_believesNamedProxiesOnly(t *testing.T) {
	n := networks(t, "10.0.0.0/8", "2001:db8::/32")
	for _, test := range []struct{ name, peer, header, want string }{
		{"a stranger", "192.0.2.1:1", "X-Forwarded-For: 203.0.113.9\nX-Forwarded-Proto: https\nX-Forwarded-Host: evil\nForwarded: for=203.0.113.9", "192.0.2.1 http inside:8470"},
		{"a socket", "@", "X-Forwarded-For: 203.0.113.9", "invalid IP http inside:8470"},
		{"a socket without a name", "", "X-Forwarded-For: 10.0.0.1", "invalid IP http inside:8470"},
		{"a proxy without headers", "10.1.2.3:1", "", "10.1.2.3 http inside:8470"},
		{"a proxy as IPv4 in IPv6", "[::ffff:10.1.2.3]:1", "X-Forwarded-For: 203.0.113.9", "203.0.113.9 http inside:8470"},
		{"a proxy of IPv6", "[2001:db8::1]:1", "X-Forwarded-For: 203.0.113.9", "203.0.113.9 http inside:8470"},
		{"a proxy with a zone", "[2001:db8::1%eth0]:1", "X-Forwarded-For: 203.0.113.9", "203.0.113.9 http inside:8470"},
		{"the neighbour of a range", "11.0.0.1:1", "X-Forwarded-For: 203.0.113.9", "11.0.0.1 http inside:8470"},
	} {
		c := n.Client(from(test.peer, test.header))
		if got := c.Addr.String() + " " + c.Proto + " " + c.Host; got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// The client is the nearest address that a named proxy names: what stands before it was written by the client.
func TestClient_resistsHostileHeaders(t *testing.T) {
	n := networks(t, "10.0.0.0/8")
	for _, test := range []struct{ name, header, want string }{
		{"one", "X-Forwarded-For: 203.0.113.9", "203.0.113.9 http inside:8470"},
		{"forged before", "X-Forwarded-For: 127.0.0.1, 203.0.113.9", "203.0.113.9 http inside:8470"},
		{"forged as a proxy before", "X-Forwarded-For: 10.0.0.7, 203.0.113.9", "203.0.113.9 http inside:8470"},
		{"two proxies", "X-Forwarded-For: 127.0.0.1, 203.0.113.9, 10.0.0.2", "203.0.113.9 http inside:8470"},
		{"two lines", "X-Forwarded-For: 127.0.0.1\nX-Forwarded-For: 203.0.113.9", "203.0.113.9 http inside:8470"},
		{"junk after", "X-Forwarded-For: 203.0.113.9, junk", "10.0.0.1 http inside:8470"},
		{"junk behind a proxy", "X-Forwarded-For: 203.0.113.9, junk, 10.0.0.2", "10.0.0.2 http inside:8470"},
		{"an empty member", "X-Forwarded-For: 203.0.113.9,", "10.0.0.1 http inside:8470"},
		{"only commas", "X-Forwarded-For: " + strings.Repeat(",", 30000), "10.0.0.1 http inside:8470"},
		{"unknown", "X-Forwarded-For: unknown", "10.0.0.1 http inside:8470"},
		{"with a port", "X-Forwarded-For: 203.0.113.9:4711", "203.0.113.9 http inside:8470"},
		{"IPv6", "X-Forwarded-For: 2001:db8::1", "2001:db8::1 http inside:8470"},
		{"IPv6 in brackets", "X-Forwarded-For: [2001:db8::1]", "2001:db8::1 http inside:8470"},
		{"IPv6 with a port", "X-Forwarded-For: [2001:db8::1]:4711", "2001:db8::1 http inside:8470"},
		{"an open bracket", "X-Forwarded-For: [2001:db8::1", "10.0.0.1 http inside:8470"},
		{"IPv4 in IPv6", "X-Forwarded-For: ::ffff:203.0.113.9", "203.0.113.9 http inside:8470"},
		{"a zone", "X-Forwarded-For: fe80::1%evil", "fe80::1 http inside:8470"},
		{"octal", "X-Forwarded-For: 0177.0.0.1", "10.0.0.1 http inside:8470"},
		{"a number", "X-Forwarded-For: 2130706433", "10.0.0.1 http inside:8470"},
		{"a name", "X-Forwarded-For: localhost", "10.0.0.1 http inside:8470"},
		{"10,000 hops", "X-Forwarded-For: " + strings.Repeat("10.0.0.9,", 10000) + "203.0.113.9", "203.0.113.9 http inside:8470"},
		{"10,000 proxies", "X-Forwarded-For: 203.0.113.9" + strings.Repeat(",10.0.0.9", 10000), "10.0.0.9 http inside:8470"},

		{"the proto of the last", "X-Forwarded-For: 203.0.113.9\nX-Forwarded-Proto: http, https", "203.0.113.9 https inside:8470"},
		{"a proto of its own", "X-Forwarded-For: 203.0.113.9\nX-Forwarded-Proto: javascript", "203.0.113.9 http inside:8470"},
		{"a proto alone", "X-Forwarded-Proto: HTTPS", "10.0.0.1 https inside:8470"},
		{"a host", "X-Forwarded-For: 203.0.113.9\nX-Forwarded-Host: mcp.example.com:8443", "203.0.113.9 http mcp.example.com:8443"},
		{"a host of IPv6", "X-Forwarded-Host: [2001:db8::1]:8443", "10.0.0.1 http [2001:db8::1]:8443"},
		{"a host with a path", "X-Forwarded-Host: evil.example/x", "10.0.0.1 http inside:8470"},
		{"a host with a user", "X-Forwarded-Host: a@evil.example", "10.0.0.1 http inside:8470"},
		{"a host with a line", "X-Forwarded-Host: a\rb", "10.0.0.1 http inside:8470"},
		{"a host with a bad port", "X-Forwarded-Host: a:b", "10.0.0.1 http inside:8470"},
		{"a host without a port", "X-Forwarded-Host: a:", "10.0.0.1 http inside:8470"},
		{"a host of other letters", "X-Forwarded-Host: exаmple.com", "10.0.0.1 http inside:8470"},
		{"a long host", "X-Forwarded-Host: " + strings.Repeat("a", 262), "10.0.0.1 http inside:8470"},

		{"standard", "Forwarded: for=203.0.113.9;proto=https;host=mcp.example.com", "203.0.113.9 https mcp.example.com"},
		{"standard, quoted", `Forwarded: For="[2001:db8::1]:47011"; Proto="https"`, "2001:db8::1 https inside:8470"},
		{"standard, forged before", "Forwarded: for=127.0.0.1, for=203.0.113.9", "203.0.113.9 http inside:8470"},
		{"standard, hidden", "Forwarded: for=_hidden", "10.0.0.1 http inside:8470"},
		{"standard, unknown", "Forwarded: for=203.0.113.9, for=unknown", "10.0.0.1 http inside:8470"},
		{"standard, twice in one", "Forwarded: for=203.0.113.9;for=127.0.0.1", "10.0.0.1 http inside:8470"},
		{"standard, an open quote", `Forwarded: for="127.0.0.1, for=203.0.113.9`, "10.0.0.1 http inside:8470"},
		{"standard, a quoted comma", `Forwarded: for=127.0.0.1;by="a, for=203.0.113.9"`, "127.0.0.1 http inside:8470"},
		{"standard, after a quote", `Forwarded: for="127.0.0.1"x`, "10.0.0.1 http inside:8470"},
		{"standard, escaped", `Forwarded: for="203.0.113.\9"`, "203.0.113.9 http inside:8470"},
		{"standard, no pairs", "Forwarded: 127.0.0.1", "10.0.0.1 http inside:8470"},
		{"standard, two proxies", "Forwarded: for=203.0.113.9;proto=https, for=10.0.0.2;proto=http", "203.0.113.9 https inside:8470"},

		{"both agree", "Forwarded: for=203.0.113.9\nX-Forwarded-For: 203.0.113.9", "203.0.113.9 http inside:8470"},
		{"both differ", "Forwarded: for=127.0.0.1\nX-Forwarded-For: 203.0.113.9", "10.0.0.1 http inside:8470"},
		{"both differ in the host", "Forwarded: for=203.0.113.9;host=evil\nX-Forwarded-For: 203.0.113.9", "203.0.113.9  "},
	} {
		c := n.Client(proxied(test.header))
		if got := c.Addr.String() + " " + c.Proto + " " + c.Host; got != test.want || !c.Proxied {
			t.Errorf("%s: got %s (proxied %v), want %s", test.name, got, c.Proxied, test.want)
		}
	}
}

func TestClient_knowsTLSOfItsOwn(t *testing.T) {
	r := from("192.0.2.1:1", "X-Forwarded-Proto: http")
	r.TLS = &tls.ConnectionState{}
	if got := (Networks{}).Client(r); got.Proto != "https" || got.Proxied {
		t.Errorf("got %+v, want https of a peer that is no proxy", got)
	}
}

func TestParseNetworks_refusesOtherText(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1/8":           `"10.0.0.1/8" has bits after its length: write 10.0.0.0/8, or one address`,
		"10.0.0.0/33":          `"10.0.0.0/33" is not a range of addresses, such as 10.0.0.0/8 or 192.0.2.1`,
		"example.com":          `"example.com" is not a range of addresses, such as 10.0.0.0/8 or 192.0.2.1`,
		"":                     `"" is not a range of addresses, such as 10.0.0.0/8 or 192.0.2.1`,
		"fe80::1%eth0":         `"fe80::1%eth0" is not a range of addresses, such as 10.0.0.0/8 or 192.0.2.1`,
		"::ffff:10.0.0.0/104":  `"::ffff:10.0.0.0/104" is a range of IPv4 addresses: leave out its ::ffff: in front`,
		"*":                    `"*" is not a range of addresses, such as 10.0.0.0/8 or 192.0.2.1`,
		"10.0.0.0/8, 10.1.0.0": `"10.0.0.0/8, 10.1.0.0" is not a range of addresses, such as 10.0.0.0/8 or 192.0.2.1`,
	} {
		if _, err := ParseNetworks([]string{text}); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestContains_knowsBothFormsOfAnAddress(t *testing.T) {
	n := networks(t, "::ffff:192.0.2.1", "2001:db8::/32", "0.0.0.0/0")
	for text, want := range map[string]bool{"192.0.2.1": true, "::ffff:192.0.2.1": true, "2001:db8::5%eth0": true, "2001:db9::": false} {
		if got := n.Contains(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if n.Contains(netip.Addr{}) {
		t.Error("an invalid address is in a range")
	}
}

func FuzzClient(f *testing.F) {
	f.Add(`for="[2001:db8::1]:47011";proto=https, for=10.0.0.2`, "1.2.3.4, 10.0.0.2", "a:1")
	f.Add(`for="\"`, ",,", "[")
	f.Fuzz(func(t *testing.T, standard, other, host string) {
		n := Networks{netip.MustParsePrefix("10.0.0.0/8")}
		r := &http.Request{RemoteAddr: "10.0.0.1:1", Host: "inside", Header: http.Header{"Forwarded": {standard}, "X-Forwarded-For": {other}, "X-Forwarded-Host": {host}}}
		c := n.Client(r)
		if !c.Addr.IsValid() || c.Addr.Zone() != "" || c.Addr.Is4In6() {
			t.Errorf("got client %v, want an address of one form", c.Addr)
		}
		if strings.ContainsAny(c.Host, "/@\\ \r\n\x00#?") {
			t.Errorf("got host %q, want a name", c.Host)
		}
	})
}
