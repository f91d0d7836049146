package grant_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// canonicalURL returns a URL in the form that the gate sees; false if it is rejected before any decision.
func canonicalURL(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, false
	}
	u, err = urlnorm.URL(u)
	return u, err == nil
}

// Each of these is /open/admin/x to some server: Tomcat and Jetty strip parameters, IIS accepts backslashes and %u,
// Windows removes trailing dots and blanks, C ends a text at NUL, and proxies decode twice.
func TestSet_Net_denyCoversServerReadings(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/open/admin/**", "deny: net: GET https://a.example/Exact.txt",
		"deny: net: GET https://a.example/v2/*/keys", "deny: net: GET https://a.example/odd;v=1/x", "deny: net: GET https://a.example/dir/")
	for _, path := range []string{
		"/open/admin/x", "/open/admin;x/x", "/open/admin;/x", "/open;/admin/x", "/open;a=b;c/admin;d", "/open/ADMIN/x", "/Open/Admin", "/OPEN/%41dmin/",
		"/open/%61dmin/x", "/open/%2561dmin/x", "/open/%252561dmin/x", "/open/%25252561dmin", "/open%2Fadmin/x", "/open%252Fadmin/x", "/open%25252fadmin", "/open%5Cadmin/x", "/open%255cadmin",
		"/open/admin./x", "/open/admin%20/x", "/open/admin.%20./x", "/open/%20admin/x", "/open./admin", "/open/admin%09/x", "/open/ad%0Amin/x", "/open/admin%00/x", "/open/admin%00.png",
		"/open/admin%2500.png", "/open/admin%23x", "/open/admin%3Fx", "/open/admin%253Fx", "/open/%EF%BD%81dmin/x", "/open/%u0061dmin/x", "/open/%25u0061dmin/x",
		"/open/%C1%A1dmin/x", "/open%C0%AFadmin/x", "/open%E0%80%AFadmin/x", "/open%F0%80%80%AFadmin", "/open%25C0%25AFadmin", "/open%EF%BC%8Fadmin/x", "/open%E2%88%95admin", "/open//admin/x", "//open/admin", "/open/%2F/admin",
		"/open/admin%3Bx/x", "/open/admin%253Bx", "/open/admin;/", "/open/%E2%93%90dmin", "/open/admin%C2%AD", "/open/adm%C3%ACn", "/exact.txt", "/Exact.txt/", "/exact.txt;v=1", "/exact.txt.", "/EXACT.TXT%20", "/Exact%2Etxt",
		"/v2/a/keys", "/v2/a;b/KEYS", "/v2/a/keys/", "/odd;v=1/x", "/ODD;v=1/X", "/odd%3Bv=1/x", "/dir", "/dir/", "/DIR",
	} {
		u, ok := canonicalURL("https://a.example" + path)
		if ok && s.Net("GET", u).Allowed {
			t.Errorf("%s is allowed", path)
		}
	}
	for _, path := range []string{
		"/", "/open", "/open/", "/open/administrator", "/openadmin", "/open/x/admin", "/open;admin", "/open%3Fadmin", "/exact", "/exact.txt2", "/exact.txt/x", "/v2/a/b/keys", "/v2/keys", "/odd/x", "/odd;v=2/x", "/dir/x",
		"/open/%E2%84%82", "/a%20b/c.d/e;f", "/caf%C3%A9/100%25",
	} {
		if u, ok := canonicalURL("https://a.example" + path); !ok || !s.Net("GET", u).Allowed {
			t.Errorf("%s is refused", path)
		}
	}
}

// misspell are ways to spell a path differently that some server reverts.
var misspell = []func(r *rand.Rand, path string) string{
	func(r *rand.Rand, p string) string {
		return at(r, p, "/", func(s string) string { return ";" + pick(r, "", "x", "a=b") + s })
	},
	func(r *rand.Rand, p string) string {
		return at(r, p, "/", func(string) string { return pick(r, "//", "%2F", "%5C", "%2f/", "/%2F") })
	},
	func(r *rand.Rand, p string) string {
		return at(r, p, "/", func(s string) string { return pick(r, "%20", "%20.", "%09", "%0A", "%0d") + s })
	},
	func(r *rand.Rand, p string) string { return at(r, p, "%", func(string) string { return "%25" }) },
	func(r *rand.Rand, p string) string {
		return letter(r, p, func(c byte) string { return fmt.Sprintf("%%%02x", c) })
	},
	func(r *rand.Rand, p string) string {
		return letter(r, p, func(c byte) string { return fmt.Sprintf("%%%02X", c^0x20) })
	},
	func(r *rand.Rand, p string) string {
		return letter(r, p, func(c byte) string { return string(c ^ 0x20) })
	},
	func(r *rand.Rand, p string) string {
		return letter(r, p, func(c byte) string { return fmt.Sprintf("%%C%d%%%02X", c>>6&3, 0x80|c&0x3f) })
	},
	func(r *rand.Rand, p string) string {
		return letter(r, p, func(c byte) string { return url.PathEscape(string(rune(c) - 0x20 + 0xff00)) })
	},
	func(r *rand.Rand, p string) string {
		return letter(r, p, func(c byte) string { return fmt.Sprintf("%%u%04x", c) })
	},
	func(r *rand.Rand, p string) string {
		return letter(r, p, func(c byte) string {
			return string(c) + pick(r, "%C2%AD", "%AD", "%E2%80%8B", "%EF%BB%BF", "%F3%A0%81%A1", "%CC%81", "%25C2%25AD", "%FF", "%F0%9F%98%80", "%CD%8F", "%EF%B8%8F", "%E3%85%A4")
		})
	},
	func(r *rand.Rand, p string) string {
		return at(r, p, "/", func(s string) string {
			return pick(r, "::$DATA", ":$I30:$INDEX_ALLOCATION", "%3a%3a$data", "/%E2%80%8B", "/(S(x))", "%E2%80%8B", "/%AD") + s
		})
	},
	func(r *rand.Rand, p string) string {
		return letter(r, p, func(c byte) string {
			other, ok := map[byte]string{'i': "%C4%B1", 'a': "%C3%A1", 'o': "%C3%B8", 'n': "%C3%B1", 'e': "%C3%89", 'd': "%C4%91"}[c|0x20]
			if !ok {
				return string(c)
			}
			return other
		})
	},
	func(r *rand.Rand, p string) string {
		return p + pick(r, "%00", "%00.png", "%23x", "%3fx", "/", "//", ";x", ".", "%20")
	},
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// at changes one random occurrence of mark after the first slash.
func at(r *rand.Rand, p, mark string, change func(string) string) string {
	n := strings.Count(p[1:], mark)
	if n == 0 {
		return p
	}
	i := 1
	for range r.IntN(n) + 1 {
		i += strings.Index(p[i:], mark) + 1
	}
	return p[:i-1] + change(mark) + p[i:]
}

// letter changes one letter that is not part of an escape.
func letter(r *rand.Rand, p string, change func(byte) string) string {
	for range 20 {
		i := 1 + r.IntN(len(p)-1)
		c := p[i]
		lower := c | 0x20
		if lower >= 'a' && lower <= 'z' && !strings.Contains(p[max(i-6, 0):i], "%") {
			return p[:i] + change(c) + p[i+1:]
		}
	}
	return p
}

// Random spellings of a denied address are denied or invalid. None of them gets a secret for a sibling path.
func TestSet_Net_denyCoversRandomSpellings(t *testing.T) {
	const seed, tries = 20261126, 40_000
	r := rand.New(rand.NewPCG(seed, 1))
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/open/admin/**", "deny: net: GET https://a.example/one/exact")
	refused, denied := 0, 0
	for range tries {
		path := pick(r, "/open/admin/x", "/open/admin", "/one/exact")
		for range 1 + r.IntN(3) {
			path = misspell[r.IntN(len(misspell))](r, path)
		}
		u, ok := canonicalURL("https://a.example" + path)
		if !ok {
			refused++
		} else if d := s.Net("GET", u); d.Allowed {
			t.Errorf("%s is allowed as %s", path, u)
		} else {
			denied++
		}
	}
	t.Logf("seed %d: of %d spellings %d are denied and %d are no address", seed, tries, denied, refused)
	if denied < tries/2 {
		t.Errorf("only %d of %d spellings were looked at", denied, tries)
	}
}

// A secret is sent below its address only, not to one that a server may treat as a different one.
func TestSecret_onlyBelowItsAddress(t *testing.T) {
	g, err := grant.ParseLine(`secret: S {to: ["https://a.example/v1/**", "https://a.example/x/*/pub", "https://a.example/odd;v=1//y"], as: "X: {secret}"}`)
	if err != nil {
		t.Fatal(err)
	}
	s := grant.NewSet(g)
	for path, want := range map[string]bool{
		"/v1/x": true, "/v1": true, "/v1/": true, "/v1/a%20b/c;d": true, "/v1//x": true, "/x/a/pub": true, "/odd;v=1//y": true,
		"/v1/%252e%252e/x": false, "/v1/..%00/x": false, "/v1/..%20/x": false, "/v1/..%09/x": false, "/v1/..%23/x": false, "/v1/..%3f/x": false, "/v1/.%0a./x": false,
		"/v1/%c0%ae%c0%ae/x": false, "/v1/%ef%bc%8e%ef%bc%8e/x": false, "/v1/%25c0%25ae%25c0%25ae/x": false, "/v1/%u002e%u002e/x": false, "/v1/..;/x": false, "/v1/..%3b/x": false,
		"/v1/%25252e%25252e/x": false, "/v1/x%252f..%252f..%252fy": false, "/v1/%2e%2e%5cx": false, "/v1/..%5c": false, "/v1/.%e2%80%8b./x": false, "/v1/%e2%80%a5/x": false, "/v1/%e0%80%ae./x": false,
		"/v1/..%2500/x": false, "/v1/..%253b/x": false, "/v1/x/..%5c..%5c/y": false, "/v1%2fx": false, "/V1/x": false, "/v1;a/x": false,
		"/x/a%252Fb/pub": false, "/x/a%2Fb/pub": false, "/x/a%255Cb/pub": false, "/x/a%00/pub": false,
	} {
		u, ok := canonicalURL("https://a.example" + path)
		if got := ok && len(s.SecretsFor("GET", u)) == 1; got != want {
			t.Errorf("%s carries the secret: %v", path, got)
		}
	}
}

// A line that denies parameters denies every request with one of them, with any other parameters and in any spelling.
func TestSet_Net_denyCoversParameters(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/del?id", "deny: net: GET https://a.example/act?do=drop&mode=raw*", "deny: net: GET https://a.example/none?")
	for query, want := range map[string]bool{
		"/del?id=1": false, "/del?id": false, "/del?id=1&x=1": false, "/del?x=1&id=1": false, "/del?ID=1": false, "/del?%69d=1": false, "/del?%2569d=1": false, "/del?x=1%26id=1": false,
		"/del?x=1;id=2": false, "/del?x%3Bid=2": false, "/del?id[]=1": false, "/del?id%5B0%5D=1": false, "/del?+id=1": false, "/del?%EF%BD%89d=1": false, "/del?&&id=1": false, "/del;a?id=1": false,
		"/del": true, "/del?": true, "/del?ids=1": true, "/del?x=id": true,
		"/act?do=drop": false, "/act?do=drop&x=1": false, "/act?do=keep&do=drop": false, "/act?do=DROP": false, "/act?do=dr%6Fp": false, "/act?do=dr%256Fp": false, "/act?mode=raw2": false, "/act?mode=raw": false,
		"/act?do=keep": true, "/act?mode=x": true, "/act": true, "/none": false, "/none?x": false, "/none?x=1&y": false,
	} {
		u, ok := canonicalURL("https://a.example" + query)
		if !ok || s.Net("GET", u).Allowed != want {
			t.Errorf("%s is allowed: %v", query, !want)
		}
	}
}
