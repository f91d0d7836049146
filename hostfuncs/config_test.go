package hostfuncs_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
)

// TestGate_operatorValuesOverrideConfigGrants checks that the operator's own values override those of config grants,
// name by name.
func TestGate_operatorValuesOverrideConfigGrants(t *testing.T) {
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	g := h.Plugin(hostfuncs.Plugin{
		Name: "demo", Grants: mustSet(t, "config: {lang: en, zone: UTC}"), Config: map[string]string{"lang": "de", "empty": ""},
	}).NewGate(hostfuncs.Call{})
	defer g.Close()
	for name, want := range map[string]string{"lang": "de", "zone": "UTC", "empty": ""} {
		if got, ok := g.Config(name); !ok || got != want {
			t.Errorf("%s: got %q, %t, want %q", name, got, ok, want)
		}
	}
	for _, name := range []string{"", "PWD", "lang=de", "none"} {
		if got, ok := g.Config(name); ok {
			t.Errorf("%q: got %q, want none", name, got)
		}
	}
	none := h.Plugin(hostfuncs.Plugin{Name: "none"}).NewGate(hostfuncs.Call{})
	defer none.Close()
	if _, ok := none.Config("lang"); ok {
		t.Errorf("a plugin without grants: got a value for lang, want none")
	}
}
