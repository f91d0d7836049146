package settings

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/identity"
)

func TestCallers_namesAreExpandedByGroups(t *testing.T) {
	s, err := Load(Options{File: write(t, `groups:
  ops: ["token:ann", "stdio:1000"]
plugins:
  p:
    callers:
      - who: [group:ops]
      - who: [scope:read, "token:bob"]
        publish: [a]
`)})
	if err != nil {
		t.Fatal(err)
	}
	p := s.Plugins[0]
	for _, test := range []struct {
		id   identity.Identity
		a, b int // line of the rule; 0 refuses
	}{
		{identity.Identity{Principal: "token:ann"}, 6, 6},
		{identity.Identity{Principal: "stdio:1000"}, 6, 6},
		{identity.Identity{Principal: "oauth:x", Groups: []string{"ops"}}, 6, 6},
		{identity.Identity{Principal: "token:bob"}, 7, 0},
		{identity.Identity{Principal: "oauth:x", Scopes: []string{"read"}}, 7, 0},
		{identity.Identity{Principal: "cli"}, 0, 0},
	} {
		for entry, want := range map[string]int{"a": test.a, "b": test.b} {
			rule, ok := p.Publishes(test.id, entry)
			got := 0
			if rule != nil {
				got = rule.Line
			}
			if got != want || ok != (want > 0) {
				t.Errorf("%v, %s: got line %d, %v, want line %d", test.id, entry, got, ok, want)
			}
		}
	}
	if _, ok := (&Plugin{}).Publishes(identity.Identity{}, "a"); !ok {
		t.Error("a plugin without rules publishes nothing, want everything")
	}
}

func TestCallers_errorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"plugins:\n  p:\n    callers: all\n":                                      ":3",
		"plugins:\n  p:\n    callers: []\n":                                       ":3",
		"plugins:\n  p:\n    callers:\n      - publish: [a]\n":                    "no caller is named",
		"plugins:\n  p:\n    callers:\n      - who: []\n":                         "no caller is named",
		"plugins:\n  p:\n    callers:\n      - who: [ops]\n":                      ":4",
		"plugins:\n  p:\n    callers:\n      - who: [\"group:o\\u200bps\"]\n":     "invisible",
		"plugins:\n  p:\n    callers:\n      - who: [all]\n        publish: []\n": "publish is empty",
		"plugins:\n  p:\n    callers:\n      - who: [all]\n        deny: [a]\n":   "unknown key",
		"groups: [ops]\n":                       "groups",
		"groups:\n  ops: [\"group:dev\"]\n":     "no principal",
		"groups:\n  ops: [all]\n":               "no principal",
		"groups:\n  ops: []\n":                  "no caller is named",
		"groups:\n  \"o\\u0301ps\": [cli]\n":    "normalization",
		"groups:\n  ops: [cli]\n  ops: [cli]\n": "ops",
	} {
		if _, err := Load(Options{File: write(t, text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}
