package grant_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

func mustSet(t testing.TB, lines ...string) *grant.Set {
	t.Helper()
	s := grant.NewSet()
	for _, line := range lines {
		g, err := grant.ParseLine(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s = s.With(g)
	}
	return s
}

func mustURL(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err == nil {
		u, err = urlnorm.URL(u)
	}
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return u
}

func TestSet_Net_matchesPatterns(t *testing.T) {
	tests := []struct {
		line, method, url string
		want              bool
	}{
		{"net: GET https://a.example/x", "GET", "https://a.example/x", true},
		{"net: GET https://a.example/x", "GET", "https://A.example:443/./x#y", true},
		{"net: GET https://a.example/x", "POST", "https://a.example/x", false},
		{"net: GET https://a.example/x", "GET", "http://a.example/x", false},
		{"net: GET https://a.example/x", "GET", "https://a.example:8443/x", false},
		{"net: GET https://a.example/x", "GET", "https://a.example/x/", false},
		{"net: GET https://a.example/x", "GET", "https://a.example/X", false},
		{"net: GET https://a.example/x", "GET", "https://a.example/x?any=1", true},
		{"net: GET https://a.example", "GET", "https://a.example/x", false},
		{"net: GET https://a.example/**", "GET", "https://a.example/", true},
		{"net: GET https://a.example/v1/**", "GET", "https://a.example/v1", true},
		{"net: GET https://a.example/v1/**", "GET", "https://a.example/v1/a/b/", true},
		{"net: GET https://a.example/v1/**", "GET", "https://a.example/v1/../v2", false},
		{"net: GET https://a.example/v1/**", "GET", "https://a.example/v1/%2e%2e/v2", false},
		{"net: GET https://a.example/v1/**", "GET", "https://a.example/v1x", false},
		{"net: GET https://a.example/r/*/i", "GET", "https://a.example/r/o/i", true},
		{"net: GET https://a.example/r/*/i", "GET", "https://a.example/r//i", false},
		{"net: GET https://a.example/r/*/i", "GET", "https://a.example/r/a/b/i", false},
		{"net: GET https://a.example/r/*/i", "GET", "https://a.example/r/a%2Fb/i", false},
		{"net: GET https://a.example/r/*/i", "GET", "https://a.example/r/a%5Cb/i", false},
		{"net: GET https://a.example/r/a%2Fb/i", "GET", "https://a.example/r/a%2fb/i", true},
		{"net: GET https://a.example/r/a%2Fb/i", "GET", "https://a.example/r/a/b/i", false},
		{"net: GET https://a.example/r/**", "GET", "https://a.example/r/a%2Fb/i", true},
		{"net: GET https://a.example/**/end", "GET", "https://a.example/end", true},
		{"net: GET https://a.example/**/end", "GET", "https://a.example/a/b/end", true},
		{"net: GET https://a.example/x*y*z", "GET", "https://a.example/x1y2z", true},
		{"net: GET https://a.example/x*y*z", "GET", "https://a.example/xyz", true},
		{"net: GET https://a.example/x*x", "GET", "https://a.example/x", false},
		{"net: GET https://a.example/%2A", "GET", "https://a.example/*", true},
		{"net: GET https://a.example/%2A", "GET", "https://a.example/b", false},
		{"net: GET https://*.example/", "GET", "https://a.example/", true},
		{"net: GET https://*.example/", "GET", "https://a.b.example/", false},
		{"net: GET https://*.example/", "GET", "https://example/", false},
		{"net: GET https://**.example/", "GET", "https://a.b.example/", true},
		{"net: GET https://**.example/", "GET", "https://aexample/", false},
		{"net: GET https://api-*.example/", "GET", "https://api-1.example/", true},
		{"net: GET http://**/", "GET", "http://1.2.3.4/", true},
		{"net: GET http://*/", "GET", "http://1.2.3.4/", false},
		{"net: GET http://*.*.*.*/", "GET", "http://1.2.3.4/", false},
		{"net: GET http://1.2.3.4/", "GET", "http://1.2.3.4/", true},
		{"net: GET http://[::1]/", "GET", "http://[0::1]/", true},
		{"net: GET https://a.example/?", "GET", "https://a.example/", true},
		{"net: GET https://a.example/?", "GET", "https://a.example/?x", false},
		{"net: GET https://a.example/?x", "GET", "https://a.example/?x=anything", true},
		{"net: GET https://a.example/?x", "GET", "https://a.example/?x=1&y=2", false},
		{"net: GET https://a.example/?x=1", "GET", "https://a.example/?x=1", true},
		{"net: GET https://a.example/?x=1", "GET", "https://a.example/?x=2", false},
		{"net: GET https://a.example/?x=1", "GET", "https://a.example/?x=1&x=2", false},
		{"net: GET https://a.example/?x=a+b", "GET", "https://a.example/?x=a%20b", true},
		{"net: GET https://a.example/?x=1*", "GET", "https://a.example/?x=12", true},
		{"net: GET https://a.example/?x=*", "GET", "https://a.example/?x=", true},
		{"net: GET https://a.example/?x", "GET", "https://a.example/?x=1;y=2", true},
		{"net: GET https://a.example/?x", "GET", "https://a.example/?%78=1", true},
	}
	for _, tt := range tests {
		d := mustSet(t, tt.line).Net(tt.method, mustURL(t, tt.url))
		if d.Allowed != tt.want {
			t.Errorf("%s: %s %s is %v", tt.line, tt.method, tt.url, d.Allowed)
		}
	}
}

func TestSet_Net_reportsDecidingLine(t *testing.T) {
	s := mustSet(t,
		"net: GET https://**/** {body: 1KiB}",
		"net: GET https://a.example/** {body: 2KiB}",
		"net: POST https://a.example/** {ask: true}",
		"deny: net: GET,POST https://a.example/admin/**",
	)
	d := s.Net("GET", mustURL(t, "https://a.example/x"))
	if !d.Allowed || !d.Named || d.Body != 2048 || d.Grant.String() != "net: GET https://a.example/** {body: 2KiB}" {
		t.Errorf("both lines: %+v", d)
	}
	if d = s.Net("GET", mustURL(t, "https://b.example/")); !d.Allowed || d.Named || d.Body != 1024 {
		t.Errorf("the wildcard alone: %+v", d)
	}
	if d = s.Net("POST", mustURL(t, "https://a.example/x")); d.Allowed || !d.Ask || d.Suggest != "" {
		t.Errorf("ask: %+v", d)
	}
	if d = s.Net("GET", mustURL(t, "https://a.example/admin/x")); d.Allowed || !d.Grant.Deny || d.Suggest != "" {
		t.Errorf("deny: %+v", d)
	}
	if d = (*grant.Set)(nil).Net("GET", mustURL(t, "https://a.example/")); d.Allowed || d.Suggest != "net: GET https://a.example/?" {
		t.Errorf("nothing granted: %+v", d)
	}
}

// A deny line also covers addresses in which a server may fold two slashes, or an encoded one, into one. An allowing
// line covers only its literal form.
func TestSet_Net_denyFoldsSlashes(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/v1/admin/**", "deny: net: GET https://a.example/one", "deny: net: GET https://a.example/x/*/z",
		"deny: net: GET https://a.example/a//b")
	for path, want := range map[string]bool{
		"/v1/admin/x": false, "/v1//admin/x": false, "//v1/admin/x": false, "/v1///admin": false, "/v1/%2Fadmin/x": false, "/v1%2Fadmin/x": false, "/v1/%5cadmin": false,
		"/v1/adminx/": true, "/v1x//admin": true, "/one": false, "//one": false, "/one/": false, "/one//": false, "/one/x": true, "/x//y/z": false, "/x/y//z": false, "/x/z": true, "/x//z": true,
		"/a//b": false, "/a/b": true, "/": true, "//": true,
	} {
		if d := s.Net("GET", mustURL(t, "https://a.example"+path)); d.Allowed != want {
			t.Errorf("%s is %v", path, d.Allowed)
		}
	}
	allows := mustSet(t, "net: GET https://a.example/v1/*/x")
	for path, want := range map[string]bool{"/v1/a/x": true, "/v1//a/x": false, "//v1/a/x": false, "/v1/a%2Fx": false} {
		if d := allows.Net("GET", mustURL(t, "https://a.example"+path)); d.Allowed != want {
			t.Errorf("allowing %s is %v", path, d.Allowed)
		}
	}
}

func TestSet_Net_suggestsNarrowestLine(t *testing.T) {
	tests := []struct{ url, want string }{
		{"https://api.example.com/v1/x", "net: GET https://api.example.com/v1/x?"},
		{"https://api.example.com/*/%2f?q=*&r=a%20b&r", "net: GET https://api.example.com/%2A/%2F?q=%2A&r=a+b&r="},
		{"http://[::1]:8080/**", "net: GET http://[::1]:8080/%2A%2A?"},
		{"https://a/%7Bargs.x%7D", "net: GET https://a/%7Bargs.x%7D?"},
	}
	for _, tt := range tests {
		u := mustURL(t, tt.url)
		d := grant.NewSet().Net("GET", u)
		if d.Suggest != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.url, d.Suggest, tt.want)
		}
		s := mustSet(t, d.Suggest)
		if !s.Net("GET", u).Allowed {
			t.Errorf("%s does not allow %s", d.Suggest, tt.url)
		}
		for _, other := range []string{"https://api.example.com/v1/y", "https://other.example/", "https://a/"} {
			if s.Net("GET", mustURL(t, other)).Allowed {
				t.Errorf("%s allows %s too", d.Suggest, other)
			}
		}
	}
}

// The suggested line for an address allows it.
func FuzzSuggest(f *testing.F) {
	for _, raw := range []string{"HTTP://A.example:80/%7e/../b%2f?x=%41;y#z", "https://[::1]:1/..;/", "http://a/%7Bargs.x%7D?*"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.Parse(raw)
		if err != nil {
			return
		}
		if u, err = urlnorm.URL(u); err != nil {
			return
		}
		if s := grant.NewSet().Net("GET", u).Suggest; s != "" && !mustSet(t, s).Net("GET", u).Allowed {
			t.Fatalf("%q is not allowed by %q", u, s)
		}
	})
}

// A line allows its host to be in a private network if it says private and contains the host literally, below ceilings
// that do the same.
func TestSet_Net_privateNeedsLiteralHost(t *testing.T) {
	const wiki = "net: GET https://wiki.example/**"
	for _, tt := range []struct {
		lines, ceiling []string
		want           bool
	}{
		{[]string{wiki}, nil, false},
		{[]string{wiki + " {private: true}"}, nil, true},
		{[]string{wiki + " {private: false}"}, nil, false},
		{[]string{"net: GET https://**", wiki + " {private: true}"}, nil, true},
		{[]string{wiki + " {private: true}"}, []string{"net: GET https://**"}, false},
		{[]string{wiki + " {private: true}"}, []string{wiki}, false},
		{[]string{wiki + " {private: true}"}, []string{"net: GET https://**", wiki + " {private: true}"}, true},
	} {
		s := mustSet(t, tt.lines...)
		if tt.ceiling != nil {
			s = s.Under(mustSet(t, tt.ceiling...))
		}
		u := mustURL(t, "https://wiki.example/x")
		if d := s.Net("GET", u); !d.Allowed || d.Private != tt.want {
			t.Errorf("%v under %v: %+v", tt.lines, tt.ceiling, d)
		}
		line := s.Limits().SuggestPrivate("GET", u)
		if can := tt.ceiling == nil || len(tt.ceiling) == 2; (line == `"`+"net: GET https://wiki.example/x? {private: true}"+`"`) != can {
			t.Errorf("%v under %v: suggested %q", tt.lines, tt.ceiling, line)
		}
	}
	for line, want := range map[string]string{
		"net: GET https://*.example/** {private: true}":                                "private is for a line that spells its host out: write the host without stars and braces, in within where the line has {args.NAME:url}",
		"net: GET https://{args.x}.example/** {private: true}":                         "private is for a line that spells its host out: write the host without stars and braces, in within where the line has {args.NAME:url}",
		"net: GET {args.x:url} {private: true}":                                        "private is for a line that spells its host out: write the host without stars and braces, in within where the line has {args.NAME:url}",
		"net: GET {args.x:url} {private: true, within: [\"https://wiki.example/**\"]}": "",
		"net: GET https://a.example/ {private: maybe}":                                 "private is true or false: whether the host may be in a private network",
		"elicitation {private: true}":                                                  "private is for addresses, and this line allows forms: remove it",
		"elicitation: {url: https://router/**} {private: true}":                        "",
		"elicitation: {url: https://**} {private: true}":                               "private is for a line that spells its host out: write the host without stars and braces, in within where the line has {args.NAME:url}",
	} {
		g, err := grant.ParseLine(line)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", line, err, want)
		} else if err == nil {
			if again, err := grant.ParseLine(g.String()); err != nil || again.String() != g.String() || !strings.Contains(g.String(), "private: ") {
				t.Errorf("%s is written %s", line, g)
			}
		}
	}
}

// A null value is no value.
func TestParse_configWithoutValue(t *testing.T) {
	_, err := grant.Parse([]grant.Node{{Line: 1, Kind: grant.Map, Nodes: []grant.Node{{Line: 1, Key: "config", Kind: grant.Map, Nodes: []grant.Node{{Line: 1, Key: "x", Value: "null", Null: true}}}}}})
	if err == nil || err.Error() != `line 1: config "x" has no value: write one, in quotes if it is the word` {
		t.Error(err)
	}
}

// A line with any query allows no key by which frameworks override the method. A line that names the key does.
func TestSet_Net_methodInQuery(t *testing.T) {
	s := mustSet(t, "net: GET,POST,PUT https://a.example/**", "net: POST https://b.example/x?_method=PUT&id", "net: GET {args.page:url}")
	for _, query := range []string{
		"_method=DELETE", "_METHOD=delete", "_method", "a=b&_method=DELETE", "%5Fmethod=DELETE", "%255Fmethod=DELETE", "_%6Dethod=DELETE", ".method=DELETE", "%20_method=DELETE", "+_method=DELETE", "[method=DELETE", "_method[]=DELETE",
		"a;_method=DELETE", "a%3B_method=DELETE", "a=b%26_method=DELETE", "_meth%00od=DELETE", "%EF%BB%BF_method=DELETE", "_m%C3%A9thod=DELETE", "_http_method=DELETE", "__method=DELETE", "$method=DELETE",
		"X-HTTP-Method-Override=DELETE", "x_http_method_override=DELETE", "x-http-method=DELETE", "x-method-override=DELETE", "http_method_override=DELETE", "httpMethod=DELETE", "methodOverride=DELETE",
	} {
		for _, method := range []string{"POST", "PUT"} {
			d := s.Net(method, mustURL(t, "https://a.example/x?"+query))
			if d.Allowed {
				t.Errorf("%s ?%s is allowed", method, query)
			} else if d.Suggest == "" || !mustSet(t, d.Suggest).Net(method, mustURL(t, "https://a.example/x?"+query)).Allowed {
				t.Errorf("%s ?%s: suggested %q", method, query, d.Suggest)
			}
		}
		if !s.Net("GET", mustURL(t, "https://a.example/x?"+query)).Allowed {
			t.Errorf("GET ?%s is refused, which no framework takes for another method", query)
		}
	}
	for _, query := range []string{"", "method=flickr.photos.search", "method=POST", "payment_method=card", "a=_method", "methods=1", "_methods=1", "a_method=1", "q=%FF", "http=1", "shipping.method=x", "name%00=1"} {
		if !s.Net("POST", mustURL(t, "https://a.example/x?"+query)).Allowed {
			t.Errorf("POST ?%s is refused", query)
		}
	}
	for query, want := range map[string]bool{"_method=PUT&id=1": true, "_method=PUT": true, "_method=DELETE": false, "_METHOD=PUT": false} {
		if s.Net("POST", mustURL(t, "https://b.example/x?"+query)).Allowed != want {
			t.Errorf("?%s is allowed: %v", query, !want)
		}
	}
}
