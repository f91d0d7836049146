package hostfuncs_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/argument"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/web"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// What Explain says about a request is what becomes of the request: also where the line that matches it does not name
// an address which has to be named.
func TestExplain_asTheGateDoes(t *testing.T) {
	const whole, within = "net: GET {args.page:url}", `net: GET {args.page:url} {within: ["http://127.0.0.1/**"]}`
	for _, tt := range []struct{ line, url, reason string }{
		{whole, "http://site.example/x", ""},
		{whole, "http://127.0.0.1/x", "127.0.0.1 is a loopback address, which no grant names"},
		{whole, "http://[::1]/x", "::1 is a loopback address, which no grant names"},
		{whole, "http://10.0.0.1/x", "10.0.0.1 is a private address, which no grant names"},
		{whole, "http://169.254.169.254/x", "169.254.169.254 is a link-local address, which no grant names"},
		{whole, "http://localhost/x", "localhost leads to a loopback address, which no grant names"},
		{within, "http://127.0.0.1/x", ""},
		{within, "http://10.0.0.1/x", "no grant allows it: 10.0.0.1 is a private address, which a line has to name, with its port"},
		{"net: GET http://**/**", "http://192.168.1.1/x", "192.168.1.1 is a private address, which no grant names"},
		{"net: GET http://10.0.0.1/**", "http://10.0.0.1/x", ""},
		{"net: GET http://localhost/**", "http://localhost/x", ""},
		{"net: GET http://169.254.169.254/x", "http://169.254.169.254/x", ""},
		{"net: GET http://*.example/x", "http://10.0.0.1/x", "no grant allows it"},
	} {
		w := newOutside(t)
		w.zone.names["localhost"] = [][]string{{"127.0.0.1"}}
		h := hostfuncs.NewHost(&hostfuncs.Options{Web: web.Options{Resolver: w.zone, Dial: w.wire.dial}})
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, tt.line)})
		c := hostfuncs.Call{Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: argument.Values(json.RawMessage(`{"page":"` + tt.url + `"}`))}
		x, err := p.Explain(c, "GET "+tt.url)
		if err != nil {
			t.Fatal(err)
		}
		g := p.NewGate(c)
		_, err = fetch(t, g, get(tt.url))
		g.Close()
		h.Close()
		var ask *runtime.AskError
		switch refused := errors.As(err, &ask) && ask.Kind == runtime.KindDenied; {
		case x.Allowed == refused || x.Reason != tt.reason:
			t.Errorf("%s, %s: explained as %+v, want %q; the gate says %v", tt.line, tt.url, x, tt.reason, err)
		case refused && (!strings.HasSuffix(ask.Message, ": "+x.Reason) || ask.Hint != x.Hint):
			t.Errorf("%s, %s: explained as %q, %q; the gate says %q, %q", tt.line, tt.url, x.Reason, x.Hint, ask.Message, ask.Hint)
		}
	}
}
