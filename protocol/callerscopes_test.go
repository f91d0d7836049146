package protocol

import (
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// A caller without the scopes of an entry sees it in lists, and each use of it is refused before anything is done: with
// all scopes at once, and with those that the caller has and other rules name.
func TestCallers_missingScopesAreNamedAtOnce(t *testing.T) {
	c := newCompany(t, false)
	all, err := identity.ParseWho([]string{"all"})
	if err != nil {
		t.Fatal(err)
	}
	list := rule(t, []string{"hello"}, "scope:list")
	for i := range c.replicas {
		rules := []catalog.CallerRule{{Who: all, Scopes: []string{"admin", "super"}}, {Who: all, Scopes: []string{"files", "write"}}}
		if err := c.catalogs[i].Configure(map[string]registry.Config{"t": {Callers: rules}, "jobs": {Callers: rules}, "open": {Callers: []catalog.CallerRule{list}}}); err != nil {
			t.Fatal(err)
		}
	}
	some := identity.Identity{Principal: "oauth:x|ann", Scopes: []string{"files", "list", "openid"}}
	if got := c.ask(0, some, "tools/list", "", ""); !strings.Contains(got, `"t-sum"`) || !strings.Contains(got, `"jobs-only"`) {
		t.Errorf("got %s, want all tools", got)
	}
	for name, use := range map[string][2]string{
		"call":               {"tools/call", `"name":"t-sum","arguments":{"a":1},`},
		"call of bad params": {"tools/call", `"name":"t-sum","arguments":{"a":"x"},`},
		"call as a task":     {"tools/call", `"name":"jobs-only","arguments":{},`},
		"prompt":             {"prompts/get", `"name":"t-plain",`},
		"completion":         {"completion/complete", `"ref":{"type":"ref/prompt","name":"t-args"},"argument":{"name":"who","value":""},`},
		"resource":           {"resources/read", `"uri":"test://text",`},
		"template":           {"resources/read", `"uri":"test://item/7",`},
	} {
		for replica := range c.replicas {
			got := c.respond(replica, some, use[0], use[1], "")
			if text := string(got.Body); !strings.Contains(text, `"code":-32600`) || !strings.Contains(text, "needs the scopes files, write") {
				t.Errorf("%s: got %s, want the scopes", name, text)
			}
			if want := []string{"files", "list", "write"}; !slices.Equal(got.Scopes, want) {
				t.Errorf("%s: got the scopes %q, want %q", name, got.Scopes, want)
			}
		}
	}
	// Rules that differ in scopes alone hold from the next call on.
	open := []catalog.CallerRule{{Who: all, Scopes: []string{"files"}}}
	if err := c.catalogs[0].Configure(map[string]registry.Config{"t": {Callers: open}, "jobs": {Callers: open}}); err != nil {
		t.Fatal(err)
	}
	if got := c.ask(0, some, "tools/call", `"name":"t-any","arguments":{},`, ""); !strings.Contains(got, `"result"`) {
		t.Errorf("got %s, want a result under the changed rule", got)
	}
	for _, scopes := range [][]string{{"admin", "super"}, {"files", "write"}} {
		id := identity.Identity{Principal: "oauth:x|ann", Scopes: scopes}
		if got := c.ask(1, id, "tools/call", `"name":"t-any","arguments":{},`, ""); !strings.Contains(got, `"result"`) {
			t.Errorf("%v: got %s, want a result", scopes, got)
		}
	}
}
