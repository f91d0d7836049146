package streamable

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/transport/forwarded"
)

func networksOf(t *testing.T, list ...string) forwarded.Networks {
	t.Helper()
	n, err := forwarded.ParseNetworks(list)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A request is admitted by the address of its client, which only a named proxy may name.
func TestCheckNetwork_admitsNamedProxiesAndClients(t *testing.T) {
	const notProxy, notClient = " is no proxy of this server (http.proxies)", "this address may not call (http.clients)"
	for _, test := range []struct {
		name, remote, forwarded string
		proxy                   bool
		proxies, clients        string
		want                    string
	}{
		{"no lists", "192.0.2.1:1", "", false, "", "", ""},
		{"a named proxy", "10.0.0.1:1", "203.0.113.9", true, "10.0.0.0/8", "", ""},
		{"another peer", "192.0.2.1:1", "10.0.0.1", true, "10.0.0.0/8", "", "192.0.2.1" + notProxy},
		{"a permitted client", "203.0.113.9:1", "", false, "", "203.0.113.0/24", ""},
		{"another client", "198.51.100.1:1", "", false, "", "203.0.113.0/24", notClient},
		{"another client with a forged header", "198.51.100.1:1", "203.0.113.9", false, "", "203.0.113.0/24", notClient},
		{"a permitted client of a proxy", "10.0.0.1:1", "203.0.113.9", true, "10.0.0.0/8", "203.0.113.0/24", ""},
		{"another client of a proxy", "10.0.0.1:1", "198.51.100.1", true, "10.0.0.0/8", "203.0.113.0/24", notClient},
		{"a forged address before it", "10.0.0.1:1", "203.0.113.9, 198.51.100.1", true, "10.0.0.0/8", "203.0.113.0/24", notClient},
		{"a proxy that names nobody", "10.0.0.1:1", "", true, "10.0.0.0/8", "203.0.113.0/24", notClient},
		{"any proxy", "10.0.0.1:1", "203.0.113.9", true, "", "203.0.113.0/24", ""},
		{"any proxy that hides its client", "203.0.113.1:1", "unknown", true, "", "203.0.113.0/24", notClient},
		{"any proxy that adds a port", "203.0.113.1:1", "198.51.100.1:5678", true, "", "203.0.113.0/24", notClient},
		{"no client of any proxy", "203.0.113.1:1", "", true, "", "203.0.113.0/24", ""},
		{"a proxy on a socket", "@", "203.0.113.9", true, "10.0.0.0/8", "203.0.113.0/24", ""},
		{"another client of a proxy on a socket", "@", "198.51.100.1", true, "10.0.0.0/8", "203.0.113.0/24", notClient},
		{"no client of a proxy on a socket", "@", "", true, "10.0.0.0/8", "203.0.113.0/24", notClient},
		{"a user of this machine", "@", "198.51.100.1", false, "", "203.0.113.0/24", ""},
	} {
		a := admission{behindProxy: test.proxy}
		if test.proxies != "" {
			a.proxies = networksOf(t, test.proxies)
		}
		if test.clients != "" {
			a.clients = networksOf(t, test.clients)
		}
		r := &http.Request{RemoteAddr: test.remote, Header: http.Header{}}
		if test.forwarded != "" {
			r.Header.Set("X-Forwarded-For", test.forwarded)
		}
		got := ""
		if f := a.checkNetwork(r); f != nil {
			got = f.err.Message
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// A client that makes its proxy's headers contradict each other is not admitted by the address of the proxy, which is
// often in the same network as the permitted clients.
func TestCheckNetwork_refusesAClientThatItsProxyHides(t *testing.T) {
	const own, other = "10.0.0.7", "203.0.113.9"
	inside := networksOf(t, "10.0.0.0/8")
	for _, test := range []struct {
		name               string
		proxies            forwarded.Networks
		standard, appended string
		admitted           bool
	}{
		{"a permitted client", networksOf(t, "10.0.0.1"), "", own, true},
		{"a permitted client in both headers", networksOf(t, "10.0.0.1"), "for=" + own, own, true},
		{"a permitted client among the proxies", inside, "", own, true},
		{"the proxy itself", inside, "", "", true},
		{"another client", inside, "", other, false},
		{"another client with a forged Forwarded", inside, "for=" + own, other, false},
		{"another client with a Forwarded of another", inside, "for=198.51.100.1", other, false},
		{"another client with a Forwarded that hides it", inside, "for=unknown", other, false},
		{"another client with a Forwarded that does not end", inside, `for="`, other, false},
		{"another client that breaks the quotes of its proxy", inside, `for=", for=` + other, "", false},
		{"a client that both headers hide", inside, "for=unknown", "unknown", false},
		{"a client without an address", inside, "", "unknown", false},
	} {
		a := admission{behindProxy: true, proxies: test.proxies, clients: inside}
		r := &http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{}}
		if test.standard != "" {
			r.Header.Set("Forwarded", test.standard)
		}
		if test.appended != "" {
			r.Header.Set("X-Forwarded-For", test.appended)
		}
		if got := a.checkNetwork(r) == nil; got != test.admitted {
			t.Errorf("%s: got admitted %v, want %v", test.name, got, test.admitted)
		}
	}
}

func TestHandler_refusesOtherAddressesBeforeTokens(t *testing.T) {
	s := start(t, newFake(), &Options{Clients: networksOf(t, "192.0.2.0/24"), Tokens: tokens{"secret": "ci"}})
	r := s.want("a good token", "POST", modernBody("tools/list", ""), modernHeaders("tools/list", "", headers{"Authorization": "Bearer secret"}), 403,
		refused("this address may not call (http.clients)"))
	if !r.Close {
		t.Error("the connection stays open, want it closed")
	}
	in := start(t, newFake(), &Options{Clients: networksOf(t, "127.0.0.0/8", "::1")})
	in.want("this machine", "POST", modernBody("tools/list", ""), modernHeaders("tools/list", "", nil), 200, okBody)
}

// Each client behind a named proxy has its own rate, and no header that a client writes moves it to another one.
func TestRate_limitsEachClientOfANamedProxy(t *testing.T) {
	s := start(t, newFake(), &Options{Rate: Rate{PerSecond: 0.001, Burst: 1}, BehindProxy: true,
		Proxies: networksOf(t, "127.0.0.0/8", "::1"), Tokens: tokens{"secret": "ci"}})
	guess := func(header, value string, status int) {
		t.Helper()
		if r, _ := s.do("POST", "{}", headers{header: value}); r.StatusCode != status {
			t.Errorf("%s %s: got %d, want %d", header, value, r.StatusCode, status)
		}
	}
	guess("X-Forwarded-For", "203.0.113.9", 401)
	guess("X-Forwarded-For", "203.0.113.9", 429)
	guess("X-Forwarded-For", "198.51.100.77, 203.0.113.9", 429)
	guess("Forwarded", "for=203.0.113.9", 429)
	guess("Forwarded", `for=198.51.100.77, for="203.0.113.9:4711"`, 429)
	guess("X-Forwarded-For", "203.0.113.10", 401)
}

func TestCheck_refusesProxiesThatNothingUses(t *testing.T) {
	o := &Options{Proxies: networksOf(t, "10.0.0.0/8")}
	if err := o.Check(); err == nil || !strings.Contains(err.Error(), "http.proxies names proxies: add --behind-proxy") {
		t.Errorf("got %v, want it to name --behind-proxy", err)
	}
	if o.Local() {
		t.Error("a host with named proxies is local, want it to need tokens")
	}
}
