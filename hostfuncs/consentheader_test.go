package hostfuncs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// sends returns a request with header fields and a body.
func sends(u, headers, body string) string {
	return fmt.Sprintf(`{"method":"POST","url":%q,"headers":%s,"body":%q}`, u, headers, body)
}

// TestConsent_onceCoversShownRequestOnly checks that a one-time answer covers the shown request only: the URL, each
// field, and the body by size and digest.
func TestConsent_onceCoversShownRequestOnly(t *testing.T) {
	t.Parallel()
	site := pages(t)
	f := newOffice(t, false, hostfuncs.Options{}, nil, "net: POST "+site+"/** {ask: true}")
	shown := sends(site+"/a", `{"X-B":["1","two words"],"x-a":"\"q"}`, "five5")
	f.refused(f.fetch(shown), "has been asked", allows(f.waiting()))
	want := "POST " + site + `/a, with a body of 5 bytes (SHA-256 9caa1a017da4f2a1b836d0b4826549f651f3318bca4569af1d12549a92a3e0b0),` +
		` with the header "X-A: \"q", "X-B: 1", "X-B: two words"`
	q := f.waiting()
	if q.Effect != want {
		t.Errorf("shown is\n%s\nwant\n%s", q.Effect, want)
	}
	f.allow(q.ID, store.Answer{Once: true})
	for name, other := range map[string]string{
		"body":             sends(site+"/a", `{"X-B":["1","two words"],"x-a":"\"q"}`, "five6"),
		"no body":          strings.Replace(shown, `"body":"five5"`, `"body":null`, 1),
		"field":            sends(site+"/a", `{"X-B":["1","two words"],"x-a":"r"}`, "five5"),
		"one field more":   sends(site+"/a", `{"X-B":["1","two words"],"x-a":"\"q","Authorization":"x"}`, "five5"),
		"one value more":   sends(site+"/a", `{"X-B":["1","two words","3"],"x-a":"\"q"}`, "five5"),
		"one field less":   sends(site+"/a", `{"X-B":["1","two words"]}`, "five5"),
		"fields as one":    sends(site+"/a", `{"X-B":["1\", \"two words"],"x-a":"\"q"}`, "five5"),
		"values exchanged": sends(site+"/a", `{"X-B":["two words","1"],"x-a":"\"q"}`, "five5"),
		"query":            sends(site+"/a?x=1", `{"X-B":["1","two words"],"x-a":"\"q"}`, "five5"),
	} {
		if err := f.fetch(other); err == nil {
			t.Errorf("another %s: got it sent, want a refusal", name)
		}
	}
	if err := f.fetch(shown); err != nil {
		t.Error(err)
	}
	if err := f.fetch(shown); err == nil {
		t.Errorf("sent again: got success, want a refusal")
	}
}

// TestConsent_neverAsksAboutLongHeader checks that no one is asked about a request that cannot be shown, which is
// therefore denied.
func TestConsent_neverAsksAboutLongHeader(t *testing.T) {
	t.Parallel()
	site := pages(t)
	f := newOffice(t, false, hostfuncs.Options{}, nil, "net: POST "+site+"/** {ask: true}")
	err := f.fetch(sends(site+"/a", fmt.Sprintf(`{"X":%q}`, strings.Repeat("x", 8<<10)), "b"))
	if all, _ := f.answers.Questions(t.Context()); len(all) != 0 || err == nil || !strings.Contains(err.Error(), "the operator is not asked, since it is too long to be shown") {
		t.Errorf("got %d questions, %v, want none and a refusal of what is too long", len(all), err)
	}
}

// TestConsent_alwaysExcludesQuery checks that a permanent answer for a URL without a query does not cover the URL with
// one.
func TestConsent_alwaysExcludesQuery(t *testing.T) {
	t.Parallel()
	site := pages(t)
	f := newOffice(t, false, hostfuncs.Options{}, nil, "net: GET "+site+"/** {ask: true}")
	f.fetch(get(site + "/a"))
	q := f.waiting()
	f.allow(q.ID, store.Answer{})
	for _, other := range []string{"/a?data=x", "/a?x", "/a/", "/b", "/a/b"} {
		if err := f.fetch(get(site + other)); err == nil {
			t.Errorf("%s: got it sent, want a refusal", other)
		}
	}
	for range 2 {
		if err := f.fetch(get(site + "/a")); err != nil {
			t.Error(err)
		}
	}
}

// TestElicit_starsNeverMeanPrivatePages checks that a line with stars sends no user to this machine or its network:
// such an address must be named, and a name in a private network needs private: true.
func TestElicit_starsNeverMeanPrivatePages(t *testing.T) {
	const this = ", which no grant names"
	for _, tt := range []struct{ line, url, class, hint string }{
		{"https://**", "https://example.com/x", "", ""},
		{"http://**", "http://127.0.0.1/", "127.0.0.1 is a loopback address", `"elicitation: {url: \"http://127.0.0.1/?\"}"`},
		{"http://**:8080/**", "http://127.0.0.1:8080/x", "127.0.0.1 is a loopback address", `"elicitation: {url: \"http://127.0.0.1:8080/x?\"}"`},
		{"http://**", "http://localhost/", "localhost leads to a loopback address", `"elicitation: {url: \"http://localhost/?\"}"`},
		{"http://**", "http://a.localhost./", "a.localhost leads to a loopback address", `"elicitation: {url: \"http://a.localhost/?\"}"`},
		{"http://**", "http://[::1]/", "::1 is a loopback address", `"elicitation: {url: \"http://[::1]/?\"}"`},
		{"http://**", "http://[::ffff:7f00:1]/", "::ffff:127.0.0.1 is a translated address", ""},
		{"http://**", "http://[64:ff9b::7f00:1]/", "64:ff9b::7f00:1 is a translated address", ""},
		{"http://**", "http://192.168.1.1/apply.cgi?dns=1.2.3.4", "192.168.1.1 is a private address", `"elicitation: {url: \"http://192.168.1.1/apply.cgi?dns=1.2.3.4\"}"`},
		{"http://**", "http://169.254.169.254/", "169.254.169.254 is a link-local address", ""},
		{"http://**", "http://100.100.100.200/", "100.100.100.200 is a metadata address", ""},
		{"http://**", "http://168.63.129.16/", "168.63.129.16 is a metadata address", ""},
		{"http://**", "http://192.0.0.192/", "192.0.0.192 is a metadata address", ""},
		{"http://**", "http://[fd00:ec2::254]/", "fd00:ec2::254 is a metadata address", ""},
		{"http://**", "http://[fd20:ce::254]/", "fd20:ce::254 is a metadata address", ""},
		{"http://**", "http://[fe80::1]/", "fe80::1 is a link-local address", ""},
		{"http://**", "http://0.0.0.0/", "0.0.0.0 is a special address", ""},
		{"http://**", "http://router/x", "router leads to a private address", `"elicitation: {url: \"http://router/x?\"} {private: true}"`},
		{"http://**", "http://fritz.box.local/", "fritz.box.local leads to a private address", `"elicitation: {url: \"http://fritz.box.local/?\"} {private: true}"`},
		{"http://**", "http://metadata.google.internal/", "metadata.google.internal leads to a private address", `"elicitation: {url: \"http://metadata.google.internal/?\"} {private: true}"`},
		{"http://router/**", "http://router/x", "router leads to a private address, which takes private: true in its line", `"elicitation: {url: \"http://router/x?\"} {private: true}"`},
		{"http://router/** private", "http://router/x", "", ""},
		{"http://192.168.1.1/**", "http://192.168.1.1/x", "", ""},
		{"http://localhost/**", "http://localhost/x", "", ""},
		{"http://169.254.169.254/**", "http://169.254.169.254/x", "169.254.169.254 is a link-local address, which takes private: true in its line", ""},
		{"http://169.254.169.254/** private", "http://169.254.169.254/x", "", ""},
	} {
		line, private := strings.CutSuffix(tt.line, " private")
		line = "elicitation: {url: " + line + "}"
		if private {
			line += " {private: true}"
		}
		p := &person{answers: map[string]string{"elicitation/create": `{"action":"accept"}`}}
		g := askGate(t, p, nil, nil, line)
		_, err := g.Ask(t.Context(), "elicitation/create", json.RawMessage(fmt.Sprintf(`{"mode":"url","message":"Go","url":%q}`, tt.url)), nil)
		if tt.class == "" {
			if err != nil || len(p.rounds) != 1 {
				t.Errorf("%s, %s: got %v, questions %q, want one", line, tt.url, err, p.rounds)
			}
			continue
		}
		if !strings.Contains(tt.class, ", which") {
			tt.class += this
		}
		act := strings.Replace(strings.Replace(tt.url, "a.localhost.", "a.localhost", 1), "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", 1)
		wantAsk(t, err, runtime.KindDenied, `plugin "demo" may not send the client's user to `+act+": "+tt.class, tt.hint)
		if len(p.rounds) != 0 {
			t.Errorf("%s, %s: got questions %q, want none", line, tt.url, p.rounds)
		}
		if tt.hint != "" {
			again := askGate(t, p, nil, nil, tt.hint)
			if _, err := again.Ask(t.Context(), "elicitation/create", json.RawMessage(fmt.Sprintf(`{"mode":"url","message":"Go","url":%q}`, tt.url)), nil); err != nil {
				t.Errorf("%s under its hint %s: got %v, want success", tt.url, tt.hint, err)
			}
		}
	}
}
