package grant_test

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func TestParseLine_formatsCanonically(t *testing.T) {
	tests := []struct{ line, want string }{
		{"net: GET https://api.example.com/**", ""},
		{"net:get,POST,GET HTTPS://API.Example.com:443/a/%7Eb/%2a/*/x*y?", "net: GET,POST https://api.example.com/a/~b/%2A/*/x*y?"},
		{"net: GET http://[::1]:8080", "net: GET http://[::1]:8080/"},
		{"net: GET http://127.0.0.1:80/x", "net: GET http://127.0.0.1/x"},
		{"net: GET https://**.example.com/?page=1&q=*&b=a%2Ab", ""},
		{"net: GET https://example.com/?q=a+b", ""},
		{"net: GET https://**", "net: GET https://**"},
		{"net: GET https://**/**", "net: GET https://**"},
		{"net: GET https://**:8443/**", "net: GET https://**:8443/**"},
		{"net: GET https://**/*", "net: GET https://**/*"},
		{"net: GET https://**?", "net: GET https://**?"},
		{"net: GET https://**/", ""},
		{"net: GET https://**:8443", "net: GET https://**:8443/"},
		{"net: POST https://example.com/ {body: 64KiB, ask: true}", "net: POST https://example.com/ {ask: true, body: 64KiB}"},
		{"net: GET https://example.com/ {ask: caller}", ""},
		{"net: GET https://example.com/ {ask: false}", "net: GET https://example.com/"},
		{"fs: read ~/work/**", ""},
		{"fs: read,write ~", "fs: write ~"},
		{"fs: read /", ""},
		{"fs: write /a b/./c//d/", "fs: write /a b/c/d"},
		{"fs: read C:\\Users\\me", "fs: read C:/Users/me"},
		{"fs: read c:/", ""},
		{"fs: read ~/a{*}b/{{}x{}}", ""},
		{"fs: write ~/a {ask: true}", ""},
		{"net: GET https://{args.team}.example.com/{args.a.b}/{plugin}/*?q={args.q}&r=1", ""},
		{"net: GET https://{args.site:host}/**", ""},
		{"net: GET,HEAD {args.url:url}", ""},
		{"net: GET {args.url:url} {redirects: public}", ""},
		{"net: GET {args.url:url} {within: [https://a.example, https://b.example/**]}", `net: GET {args.url:url} {within: ["https://a.example/", "https://b.example/**"]}`},
		{"net: GET https://a.example/ {for: search}", "net: GET https://a.example/ {for: [search]}"},
		{"fs: write ~/work/{args.dir:path}/** {for: [a, b]}", ""},
		{"fs: read {workspace}/src/**", ""},
		{"fs: read {workspace}", ""},
		{"fs: read {roots}/** {within: [~/work, /srv]}", `fs: read {roots}/** {within: ["~/work", /srv]}`},
		{"fs: read ~/data/{plugin}/**", ""},
		{`config: {lang: en, name: "a b", "k k": ""}`, `config: {"k k": "", lang: en, name: "a b"}`},
		{"deny: fs: write ~/keep/**", ""},
		{"deny:net: GET https://example.com/", "deny: net: GET https://example.com/"},
	}
	for _, tt := range tests {
		g, err := grant.ParseLine(tt.line)
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		want := tt.want
		if want == "" {
			want = tt.line
		}
		if got := g.String(); got != want {
			t.Errorf("%s\n got %s\nwant %s", tt.line, got, want)
		}
	}
}

func TestParseLine_explainsErrors(t *testing.T) {
	tests := []struct{ line, want string }{
		{"", "empty grant: write one of " + grant.Words()},
		{"nett: GET https://a/", `unknown grant "nett": write one of ` + grant.Words()},
		{"net", `"net" says nothing: write such as "net: GET https://api.example.com/v1/**"`},
		{"net: https://a/", `net needs a method and an address: write such as "net: GET https://api.example.com/v1/**"`},
		{"net: GET ftp://a/", `an address begins with https:// or http://: write such as "net: GET https://api.example.com/v1/**"`},
		{"net: CONNECT https://a/", "method CONNECT is never allowed: remove it"},
		{"net: G(T https://a/", `"G(T" is not a method: write GET`},
		{"net: GTE https://a/", `"GTE" is not a method: write GET`},
		{"net: GETT,POST https://a/", `"GETT" is not a method: write GET`},
		{"net: PSOT https://a/", `"PSOT" is not a method: write POST`},
		{"net: DELET https://a/", `"DELET" is not a method: write DELETE`},
		{"net: FETCH https://a/", `"FETCH" is not a method: write such as GET,POST`},
		{"net: GET, https://a/", `"" is not a method: write such as GET,POST`},
		{`secret: X {to: "PTU https://a/**", as: "A: {secret}"}`, `"PTU" is not a method: write PUT`},
		{"net: GET https://u:p@a/", "user information in an address is not allowed: remove the part before the @"},
		{"net: GET https://a/#x", "an address holds no # and no blank: write %23 or %20"},
		{"net: GET https://bücher.example/", `host "bücher.example" is not ASCII: write it in its xn-- form`},
		{"net: GET https://a..b/", `host "a..b" is not a name`},
		{"net: GET https://127.1/", `host "127.1" is not an address: write four decimal numbers`},
		{"net: GET https://0x7f000001/", `host "0x7f000001" is not an address: write four decimal numbers`},
		{"net: GET https://127.0.0.*/", `host "127.0.0.*" is not a name: write an address without stars`},
		{"net: GET https://10.0.0.1*/", `host "10.0.0.1*" is not a name: write an address without stars`},
		{"net: GET https://fe80::1/", `host "fe80::1" is not a name: write an IPv6 address in brackets`},
		{"net: GET https://[fe80::1%25eth0]/", `host "fe80::1%25eth0" is not an address`},
		{"net: GET https://a:0/", `port "0" is not a number from 1 to 65535`},
		{"net: GET https://a:/", `port "" is not a number from 1 to 65535`},
		{"net: GET https://a:*/", `port "*" is not a number from 1 to 65535`},
		{"net: GET https://a/../b", `segment ".." is not allowed: write the path without dot segments`},
		{"net: GET https://a/%2e%2E/b", `segment "%2e%2E" is not allowed: write the path without dot segments`},
		{"net: GET https://a/b**", "** stands alone between slashes"},
		{"net: GET https://a**.b/", "** stands alone between dots"},
		{"net: GET https://a/?k*=1", "a query key has no wildcard: list the keys, or leave the ? out to allow any"},
		{"net: GET https://a/x{args.owner}/**", "{args.owner} stands alone between slashes or dots: a value fills the whole step"},
		{"net: GET https://{args.owner}x.example/", "{args.owner} stands alone between slashes or dots: a value fills the whole step"},
		{"net: GET https://{args.site:host}.example/", "{args.site:host} is the whole host: remove the rest, or write one label, {args.NAME}"},
		{"net: GET https://a/{args.owner:path}", "{args.owner:path} cannot stand here: write {args.NAME}"},
		{"net: GET https://a/{args.owner:host}", "{args.owner:host} cannot stand here: write {args.NAME}"},
		{"net: GET https://a/?{args.k}=1", "a query key is no value of the call: list the keys"},
		{"net: GET https://a/?k=x{args.k}", "{args.k} stands alone between slashes or dots: a value fills the whole step"},
		{"net: GET {args.s}://a/", "{args.s} cannot stand here: write {args.NAME:url}"},
		{"net: GET https://a:{args.port}/", `port "\ue000" is not a number from 1 to 65535`},
		{"net: GET https://{args.u}@a/", "user information in an address is not allowed: remove the part before the @"},
		{"net: GET {args.u:url}/x", `{args.u:url} is the whole address: remove "/x"`},
		{"net: GET https://a/{roots}/x", "{roots} cannot stand here"},
		{"net: GET https://a/{args.a..b}", "{args.a..b} names no argument: write such as {args.owner} or {args.files.*}"},
		{"net: GET https://a/{args.a", "a { is not closed: write %7B for the character"},
		{"deny: net: GET https://a/{args.x}", "a deny line holds for every call: write the value itself in place of braces"},
		{"deny: fs: read {roots}/x {within: ~/work}", "a deny line holds for every call: write the value itself in place of braces"},
		{"net: GET https://a/{owner}", "unknown binding {owner}: write {args.NAME}, or the value itself"},
		{"net: GET https://a/ {within: https://a/}", "within and redirects are for a line with {args.NAME:url}: remove them"},
		{"net: GET {args.u:url} {within: []}", "within is a list of texts, such as [a, b]"},
		{"net: GET {args.u:url} {within: [\"https://{args.x}/\"]}", "within holds no braces: write the places themselves"},
		{"net: GET https://a/ {mode: direct}", `unknown option "mode" of net: write one of ask, body, for, idempotent, private, redirects, who, within`},
		{"net: GET https://a/ {body: much}", "body is a size, such as 64KiB"},
		{"net: GET https://a/ {ask: maybe}", "ask is true, false or caller"},
		{"net: GET https://a/ {redirects: public}", "within and redirects are for a line with {args.NAME:url}: remove them"},
		{"net: GET {args.u:url} {redirects: all}", `redirects is "public": anywhere in the public web; without it they stay at the host`},
		{"net: GET https://a/ {proxy: none}", `option "proxy" of net is not available in this version: remove it`},
		{"net: GET https://a/ {ask: true, ask: true}", `"ask" is there twice`},
		{"net: GET https://a/ {ask}", "options are written {name: value, name: value}"},
		{"fs: ~/x", `fs needs an operation and a path: write such as "fs: read ~/work/**"`},
		{"fs: look ~/x", `unknown fs operation "look": write read or write`},
		{"fs: read x/y", `path "x/y" begins neither with / nor with ~/: write the whole path`},
		{"fs: read ~bob/x", `path "~bob/x" begins neither with / nor with ~/: write the whole path`},
		{"fs: read ~/../x", "a path holds no ..: write the folder that is meant"},
		{"fs: read ~/a**", "** stands alone between slashes"},
		{"fs: read {roots}/**", "{roots} come from the client: write within: [~/work], the folders that they are cut to"},
		{"fs: read {args.dir:path}/**", "a path begins with / or ~/ or {workspace} or {roots}, not with a value of the call"},
		{"fs: read /{args.dir}/**", "a path does not begin with a value of the call: write the folder that it lies in"},
		{"fs: read ~/x{args.dir}", "{args.dir} stands alone between slashes or dots: a value fills the whole step"},
		{"fs: read ~/{args.dir:url}", "{args.dir:url} cannot stand here: write {args.NAME} or {args.NAME:path}"},
		{"fs: read {workspace}x", "a slash is missing after {workspace}"},
		{"fs: read ~/a}", `a lone } in "a}": write {}}`},
		{"fs: read ~/a {within: b}", `path "b/**" begins neither with / nor with ~/: write the whole path`},
		{"config: lang", "config takes names and values: write config: {name: value}"},
		{"config: {PWD: /x}", `config name "PWD" is set by the host: choose another`},
		{"config: {a=b: c}", `config name "a=b" cannot be in an environment`},
		{"net: GET https://a/ {ask: true", `'}' is missing at ""`},
		{"net: GET https://a/ {ask: {a: [b}}", `']' is missing at "}}"`},
		{"net: GET https://a/ [ask]", "an address holds no # and no blank: write %23 or %20"},
		{"net: GET https://a/ {ask: {{{{{{{{{{{{a: b}}}}}}}}}}}}}", "options are written {name: value, name: value}"},
		{"config: {a: [[[[[[[[[[b]]]]]]]]]]}", "braces nest deeper than 8"},
		{"clock: frozen", `"clock" grants are not available in this version: remove the line`},
		{"deny: deny: net: GET https://a/", "deny is there twice"},
		{"deny: config: {a: b}", "config cannot be denied: remove the value"},
		{"deny: net: GET https://a/ {ask: true}", "a deny line takes no options: remove them"},
		{"net: GET https://a/\u202e", "a grant holds a control character"},
		{"net: GET https://a/\xff", "a grant is not UTF-8 text"},
		{"fs: write /0{args.", "{args. has no }: write such as {args.owner}"},
		{"fs: read /" + strings.Repeat("a", 9000), "a grant is longer than 8192 bytes"},
		{"net: GET http://a/" + strings.Repeat("é", 3000), "a grant is longer than 8192 bytes when it is written with escapes"},
		{"fs: read " + strings.Repeat("/a", 200), "the path has more than 128 segments"},
		{"net: GET https://a" + strings.Repeat("/a", 200), "the path has more than 128 segments"},
	}
	for _, tt := range tests {
		g, err := grant.ParseLine(tt.line)
		if err == nil {
			t.Errorf("%s: accepted as %s", tt.line, g)
		} else if err.Error() != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.line, err, tt.want)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	for _, line := range []string{
		"net: GET,POST https://*.example.com:8443/a/*/b/**?x&y=1*2 {ask: true, body: 64KiB}",
		"net: GET http://[::ffff:1.2.3.4]/%2f%5c;x", "net: GET http://**/",
		"fs: write ~/a b/{*}{{}{}}/**", "fs: read C:\\x\\*", "config: {a: \"b\\n\", c: d}",
		"deny: fs: read /", "kv: 1MiB", "fs: read ~/x {ask: true}", "net: GET https://a/{args.b}", "net: GET https://{args.a:host}/{plugin}?x={args.y} {for: [a]}",
		"net: GET {args.u:url} {redirects: public, within: [\"https://a/**\"]}", "fs: write ~/{args.d:path}/** {mode: direct}",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		g, err := grant.ParseLine(line)
		if err != nil {
			return
		}
		text := g.String()
		again, err := grant.ParseLine(text)
		if err != nil {
			t.Fatalf("%q became %q: %v", line, text, err)
		}
		if again.String() != text {
			t.Fatalf("%q became %q became %q", line, text, again)
		}
	})
}

// Open describes the parts of a request that a line does not restrict.
func TestGrant_Open_namesUnrestrictedParts(t *testing.T) {
	for line, want := range map[string]string{
		"net: GET https://a.example/x?":                "any headers and any body",
		"net: POST https://a.example/x {body: 1KiB}":   "any headers and any body of at most 1KiB",
		"deny: net: GET https://a.example/x":           "",
		"fs: write ~/x":                                "",
		"kv: 1KiB":                                     "",
		"elicitation: {url: \"https://a.example/x?\"}": "",
	} {
		g, err := grant.ParseLine(line)
		if err != nil || g.Open() != want {
			t.Errorf("%s: %q, %v, want %q", line, g.Open(), err, want)
		}
	}
}
