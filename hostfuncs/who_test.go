package hostfuncs_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// callers are ann, who is in ops, and bob, who is not.
var (
	annOfOps = identity.Identity{Principal: "token:ann", Groups: []string{"ops"}}
	bobOfNo  = identity.Identity{Principal: "token:bob"}
)

// advised records the hint of each denial for the caller.
type advised struct {
	listener
	mu    sync.Mutex
	hints []string
}

func (a *advised) Denied(e *runtime.AskError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hints = append(a.hints, e.Hint)
}

// gateFor opens a gate of the plugin demo for a caller, and returns it with its client.
func gateFor(t *testing.T, h *hostfuncs.Host, id identity.Identity, lines ...string) (*hostfuncs.Gate, *advised) {
	t.Helper()
	client := &advised{}
	g := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, lines...)}).NewGate(hostfuncs.Call{
		ID: "c1", Method: "tools/call", Principal: id.Principal, Roles: id.Roles(), Client: client,
		Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: grant.ArgumentValues(json.RawMessage(`{"x":"a/b"}`)),
	})
	t.Cleanup(g.Close)
	return g, client
}

func outsideHost(t *testing.T, o hostfuncs.Options) *hostfuncs.Host {
	w := newOutside(t)
	o.Web = egress.Options{Resolver: w.zone, Dial: w.wire.dial}
	h := hostfuncs.NewHost(&o)
	t.Cleanup(h.Close)
	return h
}

// A line with who is for its callers, and to others the plugin is as without that line: in the denial, its reason, and
// its hint, also where the line has a binding that the call does not fill.
func TestWho_lineOfOthersIsAsNoLine(t *testing.T) {
	h := outsideHost(t, hostfuncs.Options{})
	const target = "http://site.example/x"
	for _, lines := range [][]string{
		{"net: GET http://site.example/** {who: [group:ops]}"},
		{"net: GET http://site.example/{args.x} {who: [group:ops]}"},
		{"net: GET http://site.example/** {ask: true, who: [group:ops]}"},
		{"net: GET http://*.example/** {who: [group:ops]}", "net: GET http://other.example/ {who: [group:ops]}"},
		{"fs: read /nowhere/** {who: [\"token:ann\"]}"},
	} {
		g, client := gateFor(t, h, bobOfNo, lines...)
		_, err := fetch(t, g, get(target))
		var ask *runtime.AskError
		if !errors.As(err, &ask) {
			t.Fatalf("%s: got %v, want a denial", lines, err)
		}
		bare, _ := gateFor(t, h, bobOfNo)
		_, err = fetch(t, bare, get(target))
		var none *runtime.AskError
		if !errors.As(err, &none) || ask.Message != none.Message || ask.Kind != none.Kind {
			t.Errorf("%s: got %v, want %v as without lines", lines, ask, none)
		}
		if ask.Hint != "" {
			t.Errorf("%s: the plugin got the hint %q, want none", lines, ask.Hint)
		}
		want := "net: GET " + target + "? {who: [token:bob]}"
		if len(client.hints) != 1 || client.hints[0] != want {
			t.Errorf("%s: the caller got %q, want %q", lines, client.hints, want)
		}
		for _, d := range g.Denials() {
			if d.Hint != want || strings.Contains(d.Reason, "ops") || strings.Contains(d.Reason, "ann") {
				t.Errorf("%s: the record is %+v, want the hint %q", lines, d, want)
			}
		}
	}
	g, _ := gateFor(t, h, annOfOps, "net: GET http://site.example/** {who: [group:ops]}")
	if _, err := fetch(t, g, get(target)); err != nil {
		t.Errorf("ann: %v", err)
	}
}

// The hint of a denial is a line for its caller alone only where the operator distinguishes callers.
func TestWho_hintOfAPluginForAllNamesNoCaller(t *testing.T) {
	h := outsideHost(t, hostfuncs.Options{})
	g, client := gateFor(t, h, bobOfNo, "net: GET http://other.example/")
	_, err := fetch(t, g, get("http://site.example/x"))
	const want = "net: GET http://site.example/x?"
	var ask *runtime.AskError
	if !errors.As(err, &ask) || ask.Hint != want || client.hints[0] != want {
		t.Errorf("got %v and %q, want the hint %q for both", err, client.hints, want)
	}
}

// A narrower line for all callers holds beside one for some, and a line of the caller overrides one that asks.
func TestWho_linesAdd(t *testing.T) {
	h := outsideHost(t, hostfuncs.Options{})
	lines := []string{"net: GET http://site.example/**", "net: GET http://other.example/** {ask: true}", "net: GET http://other.example/** {who: [group:ops]}"}
	for _, test := range []struct {
		id   identity.Identity
		url  string
		want bool
	}{
		{annOfOps, "http://site.example/x", true}, {bobOfNo, "http://site.example/x", true},
		{annOfOps, "http://other.example/x", true}, {bobOfNo, "http://other.example/x", false},
	} {
		g, _ := gateFor(t, h, test.id, lines...)
		if _, err := fetch(t, g, get(test.url)); (err == nil) != test.want {
			t.Errorf("%s, %s: got %v, want allowed: %v", test.id.Principal, test.url, err, test.want)
		}
	}
}

// Learnt lines keep the callers of the line that allowed the effect, and are for the caller of a denial.
func TestWho_isKeptInLearntLines(t *testing.T) {
	dir := t.TempDir()
	record := audit.New(dir, audit.Options{})
	h := outsideHost(t, hostfuncs.Options{Audit: record})
	set := mustSet(t, "net: GET http://site.example/** {who: [group:ops]}", "net: GET http://canary.site.example/**")
	set, err := set.Resolve(func([]string) (identity.Who, error) { return identity.ParseWho([]string{"token:ann"}) }) // by the file
	if err != nil {
		t.Fatal(err)
	}
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Learn: true, Grants: set})
	g := p.NewGate(hostfuncs.Call{ID: "c1", Method: "tools/call", Principal: "token:ann"})
	for _, url := range []string{"http://site.example/x", "http://canary.site.example/y", "http://other.example/z"} {
		_, _ = fetch(t, g, get(url))
	}
	g.Close()
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	line := auditLines(t, dir)
	for _, want := range []string{
		`{"line":"net: GET http://site.example/x? {who: [group:ops]}","used":1}`, `{"line":"net: GET http://canary.site.example/y?","used":1}`,
		`{"line":"net: GET http://other.example/z? {who: [token:ann]}","refused":1}`,
	} {
		if !strings.Contains(line, want) {
			t.Errorf("the log lacks %s:\n%s", want, line)
		}
	}
}

// The hint is a line for its caller alone also where a line allows the effect but not its address, and beside a question
// to the operator. The plugin gets neither.
func TestWho_everyHintIsForItsCaller(t *testing.T) {
	operator := consent.New(consent.Options{Store: storetest.Open(t, store.Options{Dir: t.TempDir()})})
	h := outsideHost(t, hostfuncs.Options{Operator: operator})
	for target, want := range map[string]string{
		"http://home.example/x": "net: GET http://home.example/x? {private: true, who: [token:bob]}", // is in a private network
		"http://site.example/x": ", or the line net: GET http://site.example/x? {who: [token:bob]}",
	} {
		p := hostfuncs.Plugin{Name: "demo", Digest: "sha256:1", Grants: mustSet(t, "net: GET http://home.example/**", "net: GET http://other.example/ {who: [group:ops]}"),
			Wants: []hostfuncs.Want{{Grants: mustSet(t, "net: GET http://site.example/**")}}}
		client := &advised{}
		g := h.Plugin(p).NewGate(hostfuncs.Call{ID: "c1", Method: "tools/call", Principal: "token:bob", Client: client})
		t.Cleanup(g.Close)
		_, err := fetch(t, g, get(target))
		var ask *runtime.AskError
		if !errors.As(err, &ask) || ask.Hint != "" {
			t.Errorf("%s: the plugin got %+v, want a denial without a hint", target, err)
		}
		if len(client.hints) != 1 || !strings.HasSuffix(client.hints[0], want) {
			t.Errorf("%s: the caller got %q, want %q", target, client.hints, want)
		}
		for _, d := range g.Denials() {
			if !strings.HasSuffix(d.Hint, want) {
				t.Errorf("%s: the record is %+v, want the hint %q", target, d, want)
			}
		}
	}
}
