package hostfuncs_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// identityOf is the answer of caller/get.
type identityOf struct {
	Pseudonym, Principal string
	Groups               []string
}

// learnt asks for the caller in a call of a plugin.
func learnt(t *testing.T, h *hostfuncs.Host, plugin string, id identity.Identity, lines ...string) (got identityOf, err error) {
	t.Helper()
	g := h.Plugin(hostfuncs.Plugin{Name: plugin, Grants: mustSet(t, lines...)}).NewGate(hostfuncs.Call{ID: "c1", Principal: id.Principal, Roles: id.Roles()})
	defer g.Close()
	raw, err := g.Ask(t.Context(), "caller/get", json.RawMessage(`{"principal":"token:eve"}`), nil)
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	return got, err
}

// A plugin learns the granted parts of its caller's identity and nothing without a line.
func TestCaller_isLearntByGrant(t *testing.T) {
	h := hostfuncs.NewHost(&hostfuncs.Options{Store: storetest.Open(t, store.Options{Dir: t.TempDir()})})
	t.Cleanup(h.Close)
	for _, test := range []struct {
		lines                       []string
		id                          identity.Identity
		pseudonym, principal, group bool
	}{
		{[]string{"caller: pseudonym"}, annOfOps, true, false, false},
		{[]string{"caller: principal"}, annOfOps, false, true, false},
		{[]string{"caller: groups"}, annOfOps, false, false, true},
		{[]string{"caller: groups, pseudonym"}, annOfOps, true, false, true},
		{[]string{"caller: groups", "caller: principal"}, annOfOps, false, true, true},
		{[]string{"caller: pseudonym", "caller: principal {who: [group:ops]}"}, annOfOps, true, true, false},
		{[]string{"caller: pseudonym", "caller: principal {who: [group:ops]}"}, bobOfNo, true, false, false},
		{[]string{"caller: pseudonym, principal, groups"}, identity.Identity{Principal: "anonymous"}, false, false, false},
		{[]string{"caller: pseudonym, principal, groups"}, identity.Identity{}, false, false, false},
	} {
		got, err := learnt(t, h, "p", test.id, test.lines...)
		if err != nil || (got.Pseudonym != "") != test.pseudonym || (got.Principal == test.id.Principal && got.Principal != "") != test.principal || slices.Equal(got.Groups, []string{"ops"}) != test.group {
			t.Errorf("%s, %v: got %+v, %v", test.lines, test.id, got, err)
		}
	}
	g := h.Plugin(hostfuncs.Plugin{Name: "p", Grants: mustSet(t, "caller: principal {who: [group:ops]}")}).NewGate(hostfuncs.Call{Principal: "token:bob"})
	defer g.Close()
	_, err := g.Ask(t.Context(), "caller/get", nil, nil)
	wantAsk(t, err, runtime.KindDenied, `plugin "p" may not learn its caller: no grant allows it`, "")
}

// A pseudonym is of one principal and one plugin, the same on all hosts of a store and after a restart, and holds no
// part of the principal.
func TestCaller_pseudonymIsOfOnePluginAndPrincipal(t *testing.T) {
	dir := t.TempDir()
	var hosts [3]*hostfuncs.Host
	for i := range hosts {
		hosts[i] = hostfuncs.NewHost(&hostfuncs.Options{Store: storetest.Open(t, storetest.Options(t, dir))})
		t.Cleanup(hosts[i].Close)
	}
	names := make([]string, len(hosts))
	var all sync.WaitGroup
	for i := range hosts {
		all.Go(func() {
			got, err := learnt(t, hosts[i], "p", annOfOps, "caller: pseudonym")
			if err != nil {
				t.Error(err)
			}
			names[i] = got.Pseudonym
		})
	}
	all.Wait()
	if names[0] != names[1] || names[1] != names[2] || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(names[0]) {
		t.Errorf("got %q, want one name on all hosts", names)
	}
	seen := map[string]string{names[0]: "p of token:ann"}
	for _, plugin := range []string{"p", "q", "P"} {
		for _, principal := range []string{"token:ann", "token:Ann", "token:ａnn", "token:ann\x00", "stdio:1000"} {
			if plugin == "p" && principal == "token:ann" {
				continue
			}
			got, err := learnt(t, hosts[0], plugin, identity.Identity{Principal: principal}, "caller: pseudonym")
			if err != nil || seen[got.Pseudonym] != "" || strings.Contains(got.Pseudonym, "ann") {
				t.Errorf("%s of %q: got %+v, %v, which is %s's too", plugin, principal, got, err, seen[got.Pseudonym])
			}
			seen[got.Pseudonym] = plugin + " of " + principal
		}
	}
	other := hostfuncs.NewHost(&hostfuncs.Options{Store: storetest.Open(t, store.Options{Dir: t.TempDir()})})
	t.Cleanup(other.Close)
	if got, err := learnt(t, other, "p", annOfOps, "caller: pseudonym"); err != nil || got.Pseudonym == names[0] {
		t.Errorf("a different store: got %+v, %v, want a different name", got, err)
	}
	without := hostfuncs.NewHost(nil)
	t.Cleanup(without.Close)
	if got, err := learnt(t, without, "p", annOfOps, "caller: pseudonym, principal"); err == nil {
		t.Errorf("without a store: got %+v, want an error", got)
	}
}
