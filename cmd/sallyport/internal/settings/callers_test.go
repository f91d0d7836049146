package settings

import (
	"slices"
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
			got := 0
			for _, r := range slices.Backward(p.Callers) {
				if r.Refusal(test.id, entry) == "" {
					got = r.Line
				}
			}
			if got != want {
				t.Errorf("%v, %s: got line %d, want line %d", test.id, entry, got, want)
			}
		}
	}
}

func TestCallers_errorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"plugins:\n  p:\n    callers: all\n":                                            ":3",
		"plugins:\n  p:\n    callers: []\n":                                             ":3",
		"plugins:\n  p:\n    callers:\n      - publish: [a]\n":                          "no caller is named",
		"plugins:\n  p:\n    callers:\n      - who: []\n":                               "no caller is named",
		"plugins:\n  p:\n    callers:\n      - who: [ops]\n":                            ":4",
		"plugins:\n  p:\n    callers:\n      - who: [\"group:o\\u200bps\"]\n":           "invisible",
		"plugins:\n  p:\n    callers:\n      - who: [all]\n        publish: []\n":       "publish is empty",
		"plugins:\n  p:\n    callers:\n      - who: [all]\n        deny: [a]\n":         "unknown key",
		"plugins:\n  p:\n    callers:\n      - who: [all]\n        scopes: []\n":        "want 1 to 32 scopes",
		"plugins:\n  p:\n    callers:\n      - who: [all]\n        scopes: [\"a b\"]\n": "no scope",
		"plugins:\n  p:\n    callers:\n      - who: [all]\n        scopes: [\"\"]\n":    "no scope",
		"plugins:\n  p:\n    callers:\n      - who: [all]\n        scopes: [é]\n":       "no scope",
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

// A grant with who is for the groups of the file too.
func TestCallers_grantsKnowTheGroupsOfTheFile(t *testing.T) {
	s, err := Load(Options{File: write(t, `groups:
  ops: ["token:ann"]
plugins:
  p:
    grants:
      - fs: read /data/**
        who: [group:ops]
      - "kv: 1MiB {who: [scope:keep]}"
`)})
	if err != nil {
		t.Fatal(err)
	}
	lines := s.Plugins[0].Grants.Lines()
	for id, want := range map[string][2]bool{"token:ann": {true, false}, "token:Ann": {false, false}, "token:bob": {false, false}} {
		for i := range want {
			if got := lines[i].Admits(identity.Identity{Principal: id}); got != want[i] {
				t.Errorf("%s, line %d: got %v, want %v", id, i, got, want[i])
			}
		}
	}
	if got := lines.String(); !strings.Contains(got, "fs: read /data/** {who: [group:ops]}\n") {
		t.Errorf("got %s, want the line as written", got)
	}
	for text, want := range map[string]string{
		"grants:\n      - fs: read /x\n        who: ops\n":           `:5: who: "ops" names no caller`,
		"grants:\n      - fs: read /x\n        who: [\"group:\"]\n":  ":5: who: the name is empty",
		"max_grants:\n      - fs: read /x\n        who: [group:a]\n": ":4: max_grants holds for every caller",
	} {
		if _, err := Load(Options{File: write(t, "plugins:\n  p:\n    "+text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// A plugin whose memory is that of all callers is given no value of one.
func TestCallers_sharedMemoryHasNoValueOfOne(t *testing.T) {
	for line, want := range map[string]bool{
		"secret: KEY per principal {reveal: true}":             false,
		"secret: KEY {reveal: true, who: [group:ops]}":         false,
		"secret: KEY {reveal: true}":                           true,
		"secret: KEY per principal {to: https://a.example/**}": true,
	} {
		_, err := Load(Options{File: write(t, "plugins:\n  p:\n    state: plugin\n    grants:\n      - '"+line+"'\n")})
		if (err == nil) != want {
			t.Errorf("%s: got %v, want it accepted: %v", line, err, want)
		}
	}
}
