package grant_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/identity"
)

// whoLines are lines of each family with who, and an effect of each.
func whoLines(t *testing.T) map[string]func(*grant.Set) bool {
	web := mustURL(t, "https://a.example/x")
	return map[string]func(*grant.Set) bool{
		"net: GET https://a.example/**": func(s *grant.Set) bool { return s.Net("GET", web).Allowed },
		"fs: read /data/**":             func(s *grant.Set) bool { return s.Files(grant.Places{}).Decide(grant.Read, "/data/x").Allowed },
		"kv: 1MiB":                      func(s *grant.Set) bool { return s.Given(grant.KV).Allowed },
		"roots":                         func(s *grant.Set) bool { return s.Given(grant.Roots).Allowed },
		"sampling: {calls: 1, tokens: 10}": func(s *grant.Set) bool {
			return s.Given(grant.Sampling).Allowed
		},
		"elicitation":                                  func(s *grant.Set) bool { return s.Elicit(nil).Allowed },
		"tools: [time-now]":                            func(s *grant.Set) bool { return s.Tool("time-now", nil).Allowed },
		`resources: {notes: "memo://notes/a"}`:         func(s *grant.Set) bool { return s.Resource("notes", "memo://notes/a").Allowed },
		"secret: KEY {to: \"GET https://a.example/\"}": func(s *grant.Set) bool { return len(s.Secrets()) == 1 },
	}
}

// A line is for the callers that it names, of each family, and before it is bound to a call it allows nothing.
func TestWho_limitsALineToItsCallers(t *testing.T) {
	for line, allows := range whoLines(t) {
		g, err := grant.ParseLine(line)
		if err == nil {
			g, err = g.ForCallers("group:ops", "token:ann")
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		again, err := grant.ParseLine(g.String())
		if err != nil || again.String() != g.String() || !slices.Equal(again.Who, g.Who) {
			t.Errorf("%s: read again as %s, %v", g, again, err)
		}
		for _, c := range []struct {
			id   identity.Identity
			want bool
		}{
			{identity.Identity{Principal: "token:ann"}, true},
			{identity.Identity{Principal: "token:bob", Groups: []string{"ops"}}, true},
			{identity.Identity{Principal: "token:bob"}, false},
			{identity.Identity{Principal: "token:Ann"}, false},
			{identity.Identity{Principal: "token:ａnn"}, false},
			{identity.Identity{Principal: "token:bob", Groups: []string{"Ops", "op", "group:ops"}}, false},
			{identity.Identity{Principal: "token:bob", Scopes: []string{"ops"}}, false},
			{identity.Identity{Principal: "group:ops"}, false},
			{identity.Identity{}, false},
		} {
			bound := grant.NewSet(again).Bind(grant.Call{Caller: c.id})
			if got := allows(bound); got != c.want {
				t.Errorf("%s, %v: got %v, want %v", again, c.id, got, c.want)
			}
			if got := allows(bound.Bind(grant.Call{})); got != c.want {
				t.Errorf("%s, %v, bound twice: got %v, want %v", again, c.id, got, c.want)
			}
		}
		if g.Family != grant.SecretFamily && allows(grant.NewSet(again)) {
			t.Errorf("%s: allows an effect without a call", again)
		}
		if all := again.ForAll(); all.String() != line && grant.NewSet(all).Lines().NamesCallers() {
			t.Errorf("%s for all: got %s", again, all)
		}
	}
}

// Names that match nobody, and lines that hold for every caller, are refused.
func TestWho_refusesLines(t *testing.T) {
	for line, want := range map[string]string{
		"kv: 1MiB {who: [ops]}":                         `"ops" names no caller`,
		"kv: 1MiB {who: []}":                            "who is a list of texts",
		"kv: 1MiB {who: [\"group:e\u0301\"]}":           "normalization form C",
		"kv: 1MiB {who: [\"token:a\u00adb\"]}":          "control character",
		"kv: 1MiB {who: {a: b}}":                        "who is a list of texts",
		"config: {a: b} {who: [group:ops]}":             "config is the same for every caller",
		"deny: fs: read /x {who: [group:ops]}":          "a deny line holds for every caller",
		"fs: read /x {who: [group:ops], who: [all]}":    `"who" is there twice`,
		"fs: read /x {who: [group:ops], Who: [all]}":    `unknown option "Who"`,
		"secret: A {who: [token], to: https://a.test/}": `"token" names no caller`,
	} {
		_, err := grant.ParseLine(line)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", line, err, want)
		}
	}
	deny := grant.Node{Kind: grant.Map, Nodes: []grant.Node{{Key: "deny", Value: "fs: read /x"}, {Key: "who", Kind: grant.List, Nodes: []grant.Node{{Value: "all"}}}}}
	if _, err := grant.ParseNode(deny); err == nil || !strings.Contains(err.Error(), "a deny line holds for every caller") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// A line for some callers includes, spans and covers no line for all.
func TestWho_coversNoWiderLine(t *testing.T) {
	ops, all := parsed(t, "fs: read /data/** {who: [group:ops]}"), parsed(t, "fs: read /data/x")
	narrow := parsed(t, "fs: read /data/x {who: [group:ops]}")
	set := grant.NewSet(ops)
	switch {
	case set.Includes(all):
		t.Error("Includes: a line for some callers has one for all in it")
	case ops.Spans(all, grant.Places{}):
		t.Error("Spans: a line for some callers spans one for all")
	case !ops.Spans(narrow, grant.Places{}):
		t.Error("Spans: a line does not span a narrower one for the same callers")
	case !grant.NewSet(parsed(t, "fs: read /data/**")).Includes(all):
		t.Error("Includes: a line for all does not include a narrower one")
	case !set.Coverage(all, grant.Places{}).All:
		t.Error("Coverage: the operator's line is not counted")
	}
	if again := grant.NewSet(ops, parsed(t, "fs: read /x {who: [group:dev]}")); again.Same(set) {
		t.Error("Same: sets of other callers are the same")
	}
}

// Groups of a file are resolved in each line, and sets whose members differ are not the same.
func TestWho_resolvesGroups(t *testing.T) {
	set := grant.NewSet(parsed(t, "kv: 1MiB {who: [group:ops]}"))
	resolved, err := set.Resolve(func(names []string) (identity.Who, error) {
		return identity.ParseWho(append(names, "token:ann"))
	})
	if err != nil {
		t.Fatal(err)
	}
	ann := grant.Call{Caller: identity.Identity{Principal: "token:ann"}}
	if set.Bind(ann).Given(grant.KV).Allowed || !resolved.Bind(ann).Given(grant.KV).Allowed {
		t.Error("want the member of the group by the resolved set alone")
	}
	if set.Same(resolved) {
		t.Error("a group with other members is the same set")
	}
	if got := resolved.String(); got != set.String() {
		t.Errorf("got %s, want the line as written", got)
	}
	line := parsed(t, "kv: 2MiB {who: [group:ops]}")
	if line = resolved.Lines().ResolveAs(line); !line.Admits(ann.Caller) {
		t.Error("ResolveAs: a line for the same group does not have its members")
	}
	if _, err := set.Resolve(func([]string) (identity.Who, error) { return identity.Who{}, errors.New("no") }); err == nil {
		t.Error("want the error of resolve")
	}
}

// A caller line grants the parts that it names, under the ceilings.
func TestCaller_grantsParts(t *testing.T) {
	for _, line := range []string{"caller", "caller:", "caller: name", "caller: Principal", "caller: pseudonym, pseudonym", "caller: [pseudonym]", "caller: pseudonym,", "deny: caller: groups"} {
		if g, err := grant.ParseLine(line); err == nil {
			t.Errorf("%s: got %s, want an error", line, g)
		}
	}
	g := parsed(t, "caller: groups ,pseudonym")
	if g.String() != "caller: pseudonym, groups" {
		t.Errorf("got %s, want the parts in order", g)
	}
	set := grant.NewSet(g)
	for part, want := range map[string]bool{grant.Pseudonym: true, grant.Groups: true, grant.Principal: false, "": false, "x": false} {
		if got := set.Caller(part).Allowed; got != want {
			t.Errorf("%s: got %v, want %v", part, got, want)
		}
		if set.Under(grant.NewSet(parsed(t, "kv: 1MiB"))).Caller(part).Allowed {
			t.Errorf("%s: allowed over a ceiling", part)
		}
	}
}
