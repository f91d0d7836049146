package hostfuncs_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/runtime"
)

func TestFetch_deniesLocalAddressesUnlessNamed(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) })
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	z := &zone{names: map[string][][]string{
		"public.example":    {{"93.184.216.34"}},
		"six.example":       {{"2606:2800::1"}},
		"some.example":      {{"10.0.0.1", "93.184.216.35", "127.0.0.1"}},
		"dead.example":      {{"192.0.9.1", "93.184.216.36"}},
		"private.example":   {{"10.0.0.1"}},
		"mapped.example":    {{"::ffff:127.0.0.1"}},
		"loop.example":      {{"127.0.0.1"}},
		"cloud.example":     {{"169.254.169.254"}},
		"alibaba.example":   {{"100.100.100.200"}},
		"localhost":         {{"127.0.0.1"}},
		"out.localhost":     {{"93.184.216.34"}},
		"in.localhost":      {{"10.0.0.1"}},
		"nothing.example":   {{}},
		"nat64.example":     {{"64:ff9b::7f00:1"}},
		"sixtofour.example": {{"2002:7f00:1::"}},
	}}
	tests := []struct{ grant, url, dialed, reason, hint string }{
		{"net: GET http://**/", "http://public.example/", "93.184.216.34:80", "", ""},
		{"net: GET http://**/", "http://six.example/", "[2606:2800::1]:80", "", ""},
		{"net: GET http://**/", "http://some.example/", "93.184.216.35:80", "", ""},
		{"net: GET http://dead.example/", "http://dead.example/", "192.0.9.1:80 93.184.216.36:80", "", ""},
		{"net: GET http://93.184.216.34/", "http://93.184.216.34/", "93.184.216.34:80", "", ""},
		{"net: GET http://**/", "http://private.example/", "", "private.example leads to a private address, which no grant names", `"net: GET http://private.example/? {private: true}"`},
		{"net: GET http://private.example/", "http://private.example/", "", "private.example leads to a private address, which takes private: true in its line", `"net: GET http://private.example/? {private: true}"`},
		{"net: GET http://private.example/ {private: true}", "http://private.example/", "10.0.0.1:80", "", ""},
		{"net: GET http://10.0.0.1/", "http://10.0.0.1/", "10.0.0.1:80", "", ""},
		{"net: GET http://loop.example/ {private: true}", "http://loop.example/", "", "loop.example leads to a loopback address, which no grant names", "net: GET http://127.0.0.1/?"},
		{"net: GET http://cloud.example/ {private: true}", "http://cloud.example/", "", "cloud.example leads to a link-local address, which no grant names", ""},
		{"net: GET http://alibaba.example/ {private: true}", "http://alibaba.example/", "", "alibaba.example leads to a metadata address, which no grant names", ""},
		{"net: GET http://100.100.100.200/ {private: true}", "http://100.100.100.200/", "100.100.100.200:80", "", ""},
		{"net: GET http://100.100.100.200/", "http://100.100.100.200/", "", "100.100.100.200 is a metadata address, which takes private: true in its line", ""},
		{"net: GET http://*.example/", "http://loop.example/", "", "loop.example leads to a loopback address, which no grant names", "net: GET http://127.0.0.1/?"},
		{"net: GET http://loop.example/", "http://loop.example/", "", "loop.example leads to a loopback address, which no grant names", "net: GET http://127.0.0.1/?"},
		{"net: GET http://**/", "http://mapped.example/", "", "mapped.example leads to a loopback address, which no grant names", "net: GET http://127.0.0.1/?"},
		{"net: GET http://**/", "http://localhost/", "", "localhost leads to a loopback address, which no grant names", "net: GET http://localhost/?"},
		{"net: GET http://localhost/", "http://localhost/", "127.0.0.1:80", "", ""},
		{"net: GET http://out.localhost/", "http://out.localhost/", "", "out.localhost is a name of this machine, and leads to a public address", ""},
		{"net: GET http://in.localhost/ {private: true}", "http://in.localhost/", "", "in.localhost is a name of this machine, and leads to a private address", ""},
		{"net: GET http://**" + port + "/", "http://127.0.0.1" + port + "/", "", "127.0.0.1 is a loopback address, which no grant names", "net: GET http://127.0.0.1" + port + "/?"},
		{"net: GET http://127.0.0.1" + port + "/", "http://127.0.0.1" + port + "/", "127.0.0.1" + port, "", ""},
		{"net: GET http://cloud.example/", "http://cloud.example/", "", "cloud.example leads to a link-local address, which no grant names", ""},
		{"net: GET http://**/", "http://169.254.169.254/", "", "169.254.169.254 is a link-local address, which no grant names", ""},
		{"net: GET http://169.254.169.254/", "http://169.254.169.254/", "", "169.254.169.254 is a link-local address, which takes private: true in its line", ""},
		{"net: GET http://169.254.169.254/ {private: true}", "http://169.254.169.254/", "169.254.169.254:80", "", ""},
		{"net: GET http://**/", "http://[::1]/", "", "::1 is a loopback address, which no grant names", "net: GET http://[::1]/?"},
		{"net: GET http://**/", "http://[::ffff:8.8.8.8]/", "", "::ffff:8.8.8.8 is a translated address, which no grant names", ""},
		{"net: GET http://nat64.example/", "http://nat64.example/", "", "nat64.example leads to a translated address, which no grant names", ""},
		{"net: GET http://sixtofour.example/", "http://sixtofour.example/", "", "sixtofour.example leads to a translated address, which no grant names", ""},
	}
	for _, tt := range tests {
		w := &wire{to: strings.TrimPrefix(s.URL, "http://")}
		g := newGate(t, &hostfuncs.Options{Web: egress.Options{Resolver: z, Dial: w.dial}}, tt.grant)
		a, err := fetch(t, g, get(tt.url))
		if got := strings.Join(w.dialed, " "); got != tt.dialed {
			t.Errorf("%s, %s: dialed %q, want %q", tt.grant, tt.url, got, tt.dialed)
		}
		if tt.reason != "" {
			wantAsk(t, err, runtime.KindDenied, `plugin "demo" may not GET `+tt.url+": "+tt.reason, tt.hint)
			if len(g.Denials()) != 1 {
				t.Errorf("%s: got denials %+v, want one", tt.url, g.Denials())
			}
		} else if u, _ := url.Parse(tt.url); err != nil || a.text != u.Host {
			t.Errorf("%s, %s: got %q, %v, want the host", tt.grant, tt.url, a.text, err)
		}
	}
	g := newGate(t, &hostfuncs.Options{Web: egress.Options{Resolver: z}}, "net: GET http://**/")
	_, err := fetch(t, g, get("http://unknown.example/"))
	wantAsk(t, err, runtime.KindUnavailable, "host unknown.example is not known", "")
	_, err = fetch(t, g, get("http://nothing.example/"))
	wantAsk(t, err, runtime.KindUnavailable, "host nothing.example is not known", "")
}

// TestFetch_connectsToCheckedAddress checks that a name that resolves to a public address, and then to this machine,
// connects only to the address that was checked, and that the next connection is checked again.
func TestFetch_connectsToCheckedAddress(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "ok")
	})
	z := &zone{names: map[string][][]string{"rebind.example": {{"93.184.216.34"}, {"127.0.0.1"}}}}
	w := &wire{to: strings.TrimPrefix(s.URL, "http://")}
	g := newGate(t, &hostfuncs.Options{Web: egress.Options{Resolver: z, Dial: w.dial}}, "net: GET http://rebind.example/**")
	if a, err := fetch(t, g, get("http://rebind.example/")); err != nil || a.text != "ok" {
		t.Fatalf("first request: got %+v, %v, want ok", a, err)
	}
	_, err := fetch(t, g, get("http://rebind.example/"))
	if r := g.Receipt(); len(r.Effects) != 1 || r.Effects[0].Count != 1 || len(r.Denials) != 1 {
		t.Errorf("got effects %+v, denials %+v, want one request and one denial", r.Effects, r.Denials)
	}
	wantAsk(t, err, runtime.KindDenied, `plugin "demo" may not GET http://rebind.example/: rebind.example leads to a loopback address, which no grant names`, "net: GET http://127.0.0.1/?")
	if !slices.Equal(w.dialed, []string{"93.184.216.34:80"}) || len(z.asked) != 2 {
		t.Errorf("got addresses %v dialed for names %v, want 93.184.216.34:80 for the first of two", w.dialed, z.asked)
	}
}

// TestFetch_pooledConnectionsServeOnePluginAndGrant checks that an open connection keeps its address, regardless of
// later resolutions, and serves only its own plugin and kind of grant.
func TestFetch_pooledConnectionsServeOnePluginAndGrant(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })
	z := &zone{names: map[string][][]string{"host.example": {{"10.0.0.1"}}}}
	w := &wire{to: strings.TrimPrefix(s.URL, "http://")}
	h := hostfuncs.NewHost(&hostfuncs.Options{Web: egress.Options{Resolver: z, Dial: w.dial}})
	defer h.Close()
	one := h.Plugin(hostfuncs.Plugin{Name: "one", Grants: mustSet(t, "net: GET http://host.example/named {private: true}", "net: GET http://**/**")})
	two := h.Plugin(hostfuncs.Plugin{Name: "two", Grants: mustSet(t, "net: GET http://**/**")})
	g := one.NewGate(hostfuncs.Call{})
	defer g.Close()
	a, err := fetch(t, g, get("http://host.example/named"))
	if err != nil {
		t.Fatal(err)
	}
	z.names["host.example"] = [][]string{{"127.0.0.1"}}
	b, err := fetch(t, g, get("http://host.example/named"))
	if err != nil || b.text != a.text {
		t.Errorf("the same grant: got %+v, %v, want connection %s", b, err, a.text)
	}
	if _, err = fetch(t, g, get("http://host.example/other")); err == nil {
		t.Errorf("another grant: got its connection used, want a refusal")
	}
	g2 := two.NewGate(hostfuncs.Call{})
	defer g2.Close()
	if _, err = fetch(t, g2, get("http://host.example/named")); err == nil {
		t.Errorf("another plugin: got its connection used, want a refusal")
	}
	one.Close()
	if _, err = fetch(t, g, get("http://host.example/named")); err == nil {
		t.Errorf("a closed policy: got its connection used, want a refusal")
	}
}

// TestFetch_denialDemandsNoNameThatLineHas checks that a denial does not demand a named address where a line names it
// with its port, or waits for a value of the call.
func TestFetch_denialDemandsNoNameThatLineHas(t *testing.T) {
	const target = "http://127.0.0.1:8080/x"
	for line, why := range map[string]string{
		"net: GET http://127.0.0.1:8080/v1/**":    "",
		"net: GET http://127.0.0.1:8080/y?page=1": "",
		"net: GET http://127.0.0.1:8080/{args.x}": `: {args.x} of a grant is not filled, since the call has no argument "x" that is text, a whole number, true or false`,
		"net: GET http://127.0.0.1:8081/x":        ": 127.0.0.1 is a loopback address, which a line has to name, with its port",
	} {
		_, err := fetch(t, newGate(t, nil, "net: GET http://**", line), get(target))
		wantAsk(t, err, runtime.KindDenied, `plugin "demo" may not GET `+target+": no grant allows it"+why, "net: GET "+target+"?")
	}
}

// TestFetch_starsNeverMeanThisMachine checks that the denial explains why a line with stars does not cover this
// machine.
func TestFetch_starsNeverMeanThisMachine(t *testing.T) {
	const a = ", which a line has to name, with its port"
	g := newGate(t, nil, "net: GET http://**")
	for target, want := range map[string]string{
		"http://127.0.0.1:8080/x": ": 127.0.0.1 is a loopback address" + a,
		"http://localhost:8080/x": ": localhost is a loopback address" + a,
		"http://10.1.2.3:81/":     ": 10.1.2.3 is a private address" + a,
		"http://[::1]:81/":        ": ::1 is a loopback address" + a,
		"http://a.example:81/":    "",
		"https://a.example/":      "",
	} {
		_, err := fetch(t, g, get(target))
		wantAsk(t, err, runtime.KindDenied, `plugin "demo" may not GET `+target+": no grant allows it"+want, "net: GET "+target+"?")
	}
	_, err := fetch(t, g, get("http://127.0.0.1/x"))
	wantAsk(t, err, runtime.KindDenied, `plugin "demo" may not GET http://127.0.0.1/x: 127.0.0.1 is a loopback address, which no grant names`, "net: GET http://127.0.0.1/x?")
}
