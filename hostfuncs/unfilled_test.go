package hostfuncs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// TestRefusal_namesUnfilledBinding checks that a denial names the binding that could not be bound, and the reason,
// where a line would otherwise cover the effect.
func TestRefusal_namesUnfilledBinding(t *testing.T) {
	for _, c := range []struct{ line, args, act, reason string }{
		{"net: GET https://a.example/{args.x}", `{}`, "GET https://a.example/b", `{args.x} of a grant is not filled, since the call has no argument "x" that is text, a whole number, true or false`},
		{"net: GET https://a.example/{args.x}", `{"x":{"y":1}}`, "GET https://a.example/b", `{args.x} of a grant is not filled, since the call has no argument "x" that is text, a whole number, true or false`},
		{"net: GET https://a.example/{args.x}", `{"x":1.5}`, "GET https://a.example/b", `{args.x} of a grant is not filled, since the call has no argument "x" that is text, a whole number, true or false`},
		{"net: GET https://a.example/{args.x}", `{"x":"b/c"}`, "GET https://a.example/b", `{args.x} of a grant is not filled, since "b/c" is more than one step`},
		{"net: GET https://a.example/{args.x}", `{"x":".."}`, "GET https://a.example/b", `{args.x} of a grant is not filled, since ".." holds a . or .. step`},
		{"net: GET https://a.example/{args.x}", `{"x":""}`, "GET https://a.example/b", `{args.x} of a grant is not filled, since the value is empty`},
		{"net: GET https://{args.x:host}/b", `{"x":"10.0.0.1"}`, "GET https://a.example/b", `{args.x:host} of a grant is not filled, since "10.0.0.1" is no host name`},
		{"net: GET {args.x:url}", `{"x":"ftp://a.example/"}`, "GET https://a.example/b", `{args.x:url} of a grant is not filled, since "ftp://a.example/" is no address that can be asked for`},
		{"net: GET https://a.example/?q={args.x}", `{"x":"b&c%"}`, "GET https://a.example/?q=b", `{args.x} of a grant is not filled, since "b&c%" is more than one step`},
		{"fs: read /srv/{args.x:path}", `{"x":"../etc"}`, "read /srv/etc", `{args.x:path} of a grant is not filled, since "../etc" holds a . or .. step`},
		{"fs: read /srv/{args.x:path}", `{"x":"/etc/passwd"}`, "read /srv/etc", `{args.x:path} of a grant is not filled, since "/etc/passwd" does not begin with the folder before it`},
		{"fs: read /srv/{args.x:path}", `{"x":"a\u0000b"}`, "read /srv/etc", `{args.x:path} of a grant is not filled, since the value holds a character that cannot be seen`},
		{"fs: read /srv/{args.x:path}", `{"x":"../../q"}`, "read /q", `{args.x:path} of a grant is not filled, since "../../q" holds a . or .. step`},
		// A different value is not a missing one, and a line about a different target is not named.
		{"net: GET https://a.example/{args.x}", `{"x":"c"}`, "GET https://a.example/b", ""},
		{"net: GET https://other.example/{args.x}", `{}`, "GET https://a.example/b", ""},
		{"net: POST https://a.example/{args.x}", `{}`, "GET https://a.example/b", ""},
		{"net: GET https://a.example/{args.x} {for: [other]}", `{}`, "GET https://a.example/b", ""},
		{"fs: read /srv/{args.x:path}", `{}`, "read /etc/passwd", ""},
		{"fs: read /srv/{args.x:path}", `{}`, "write /srv/x", ""},
	} {
		h := hostfuncs.NewHost(nil)
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, c.line)})
		x, err := p.Explain(hostfuncs.Call{Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: grant.ArgumentValues(json.RawMessage(c.args))}, c.act)
		h.Close()
		want := strings.TrimSuffix("no grant allows it: "+c.reason, ": ")
		if err != nil || x.Allowed || x.Reason != want {
			t.Errorf("%s with %s: %q, %v, want %q", c.line, c.args, x.Reason, err, want)
		}
	}
}
