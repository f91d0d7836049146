package hostfuncs_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// TestExplain_matchesOutcomeOfRequest checks that Explain matches the outcome of the request, also where the matching
// line does not name an address that must be named.
func TestExplain_matchesOutcomeOfRequest(t *testing.T) {
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
		{"net: GET http://169.254.169.254/x", "http://169.254.169.254/x", "169.254.169.254 is a link-local address, which takes private: true in its line"},
		{"net: GET http://169.254.169.254/x {private: true}", "http://169.254.169.254/x", ""},
		{"net: GET http://100.100.100.200/x", "http://100.100.100.200/x", "100.100.100.200 is a metadata address, which takes private: true in its line"},
		{"net: GET http://*.example/x", "http://10.0.0.1/x", "no grant allows it"},
	} {
		w := newOutside(t)
		w.zone.names["localhost"] = [][]string{{"127.0.0.1"}}
		h := hostfuncs.NewHost(&hostfuncs.Options{Web: egress.Options{Resolver: w.zone, Dial: w.wire.dial}})
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, tt.line)})
		c := hostfuncs.Call{Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: grant.ArgumentValues(json.RawMessage(`{"page":"` + tt.url + `"}`))}
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
			t.Errorf("%s, %s: got %q, %q explained, want the gate's %q, %q", tt.line, tt.url, x.Reason, x.Hint, ask.Message, ask.Hint)
		}
	}
}

// TestExplain_ceilingMustSpellPathOut checks that paths that must be spelled out must also be by max_grants, and that
// denials say so.
func TestExplain_ceilingMustSpellPathOut(t *testing.T) {
	home := world(t)
	h := hostfuncs.NewHost(&hostfuncs.Options{Home: home, State: filepath.Join(home, "state")})
	defer h.Close()
	const hook = "fs: write ~/work/.git/hooks/pre-commit"
	for ceiling, want := range map[string]string{"fs: write ~/work/**": "no line of max_grants spells it out", "fs: write ~/other/**": "max_grants does not reach it", hook: ""} {
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, hook).Under(mustSet(t, ceiling))})
		x, err := p.Explain(hostfuncs.Call{}, strings.TrimPrefix(hook, "fs: "))
		if err != nil || x.Reason != want || x.Allowed != (want == "") || x.Hint != "" {
			t.Errorf("%s: got %+v, %v, want reason %q and no hint", ceiling, x, err, want)
		}
	}
}

// TestExplain_namesTheEffectOfALine checks that a line, as a hint of a denial has it, is answered with its effect.
func TestExplain_namesTheEffectOfALine(t *testing.T) {
	h := hostfuncs.NewHost(&hostfuncs.Options{Home: world(t)})
	defer h.Close()
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t)})
	for act, want := range map[string]string{
		"fs: read ~/work/a.txt":               `"fs: read ~/work/a.txt" is a line of a grant and not an effect: write 'read ~/work/a.txt'`,
		"net: GET https://example.com/a?":     `is a line of a grant and not an effect: write 'GET https://example.com/a?'`,
		"fs: raed ~/work/a.txt":               `"fs: raed ~/work/a.txt" is not an effect: write one such as `,
		strings.Repeat("fs: ", 3) + "nothing": ` is not an effect: write one such as `,
	} {
		if _, err := p.Explain(hostfuncs.Call{}, act); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", act, err, want)
		}
	}
}

// TestExplain_matchesOutcomeOfFileAccess checks that Explain matches the outcome of a file access, through links and
// from /workspace.
func TestExplain_matchesOutcomeOfFileAccess(t *testing.T) {
	home := world(t)
	for name, target := range map[string]string{"work/out": "../other/c.txt", "work/in": "a.txt", "work/folder": "../other", "work/denied": "sub/b.md"} {
		if err := os.Symlink(filepath.FromSlash(target), filepath.Join(home, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	h := hostfuncs.NewHost(&hostfuncs.Options{Home: home, State: filepath.Join(home, "state")})
	defer h.Close()
	for _, tt := range []struct {
		lines            []string
		path             string
		allowed          bool
		leads, line, why string
	}{
		{[]string{"fs: read ~/work/**"}, "/work/in", true, "read ~/work/a.txt", "fs: read ~/work/**", ""},
		{[]string{"fs: read ~/work/**"}, "/work/out", false, "read ~/other/c.txt", "", "no grant allows it"},
		{[]string{"fs: read ~/work/**"}, "/work/folder/c.txt", false, "read ~/other/c.txt", "", "no grant allows it"},
		{[]string{"fs: read ~/work/**", "fs: read ~/other/c.txt"}, "/work/out", true, "read ~/other/c.txt", "fs: read ~/other/c.txt", ""},
		{[]string{"fs: read ~/work/**", "deny: fs: read ~/work/sub/**"}, "/work/denied", false, "read ~/work/sub/b.md", "deny: fs: read ~/work/sub/**", "a grant denies it"},
		{[]string{"fs: read {workspace}/**"}, "/workspace/a.txt", true, "read ~/work/a.txt", "fs: read {workspace}/**", ""},
		{[]string{"fs: read ~/other/**"}, "/workspace/a.txt", false, "read ~/work/a.txt", "", "no grant allows it"},
		{[]string{"fs: read ~/work/sub/**"}, "", true, "", "", "only the names in it that lead to granted paths"},
		{[]string{"fs: read ~/work/**"}, "/other", false, "", "", "no grant allows it"},
		{[]string{"fs: read ~/work/**"}, "/work/none/x", true, "", "fs: read ~/work/**", ""},
	} {
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, tt.lines...), Workspace: filepath.Join(home, "work")})
		path := tt.path
		if !strings.HasPrefix(path, "/workspace") {
			path = home + path
		}
		x, err := p.Explain(hostfuncs.Call{}, "read "+path)
		x.Line = strings.ReplaceAll(x.Line, filepath.ToSlash(home)+"/work/", "{workspace}/") // it is in no file
		if err != nil || x.Allowed != tt.allowed || x.Leads != tt.leads || x.Line != tt.line || x.Reason != tt.why {
			t.Errorf("%q, %s: got %+v, %v, want %+v", tt.lines, path, x, err, tt)
		}
		g := p.NewGate(hostfuncs.Call{})
		f, e := g.Files().Open(path, wasi.OpenOptions{Read: true})
		if e == 0 {
			f.Close()
		}
		if refused := len(g.Denials()) > 0; refused == x.Allowed {
			t.Errorf("%q, %s: got %+v explained, want the gate's %v, %+v", tt.lines, path, x, e, g.Denials())
		}
		g.Close()
	}
}
