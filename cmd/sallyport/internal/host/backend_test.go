package host

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

// A denial has the line that would allow it, unless current grants cover it; otherwise it has its reason.
func TestShownCall_showsTheLineOrTheReason(t *testing.T) {
	line, err := json.Marshal(map[string]any{"call": "c", "plugin": "p", "outcome": "failed", "denials": []receipt.Denial{
		{Effect: "read ~/a", Reason: "no grant allows it", Hint: "fs: read ~/a"},
		{Effect: "read ~/b/c", Reason: "no grant allows it", Hint: "fs: read ~/b/c"},
		{Effect: "GET https://a.example/", Reason: "the secret KEY: it is not set: sallyport secret set KEY asks for it"},
		{Effect: "read ~/d", Reason: "line 3 denies it", Hint: "sallyport allow X"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines := func(plugin string, grants ...string) []console.Plugin {
		return []console.Plugin{{Name: plugin, Grants: grants}}
	}
	members := []hostState{{ID: "other", Plugins: lines("q", "fs: read ~/**")}, {ID: "host", Plugins: lines("p", "nonsense", "fs: read ~/b/**")}}
	const now = "the lines of the plugin allow it by now"
	secret, denied := "the secret KEY: it is not set: sallyport secret set KEY asks for it", "line 3 denies it"
	for host, want := range map[string][]console.Denial{
		"":      {{Effect: "read ~/a", Line: "fs: read ~/a"}, {Effect: "read ~/b/c", Why: now}, {Effect: "GET https://a.example/", Why: secret}, {Effect: "read ~/d", Why: denied}},
		"host":  {{Effect: "read ~/a", Line: "fs: read ~/a"}, {Effect: "read ~/b/c", Why: now}, {Effect: "GET https://a.example/", Why: secret}, {Effect: "read ~/d", Why: denied}},
		"other": {{Effect: "read ~/a", Line: "fs: read ~/a"}, {Effect: "read ~/b/c", Line: "fs: read ~/b/c"}, {Effect: "GET https://a.example/", Why: secret}, {Effect: "read ~/d", Why: denied}},
	} {
		c, ok := shownCall(line)
		c.Host = host
		if dropCovered(&c, members); !ok || !reflect.DeepEqual(c.Denials, want) {
			t.Errorf("of %q: %+v", host, c.Denials)
		}
	}
}
