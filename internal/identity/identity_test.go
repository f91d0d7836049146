package identity

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestNew_sortsGroupsAndDropsInvalidOnes(t *testing.T) {
	id, err := New("token:ann", []string{"ops", "dev", "ops", "", " dev", "e\u0301", "a\u200bb", "tab\t", strings.Repeat("x", maxName+1), "\xff"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"dev", "ops"}; !slices.Equal(id.Groups, want) {
		t.Errorf("got %q, want %q", id.Groups, want)
	}
	if got := Of("token:ann", id.Roles()); !reflect.DeepEqual(got, id) {
		t.Errorf("Of(Roles) is %v, want %v", got, id)
	}
}

func TestNew_refusesNamesWithAnotherSpelling(t *testing.T) {
	for _, principal := range []string{
		"", "group:ops", "scope:write", "token:cafe\u0301", "token:a\u200bb", "token:a\u202eb", " token:a", "token:a ", "token:a\nb", "token:\xff",
		"token:a\u00a0b", "token:\u2126", strings.Repeat("a", maxPrincipal+1),
	} {
		if id, err := New(principal, nil, nil); err == nil {
			t.Errorf("%.40q: got %v, want an error", principal, id)
		}
	}
	for _, principal := range []string{"token:ann", "stdio:1000", "token:café", "oauth:https://id.example.com|Ann Smith", strings.Repeat("a", maxPrincipal)} {
		if _, err := New(principal, nil, nil); err != nil {
			t.Errorf("%.40q: %v", principal, err)
		}
	}
	if _, err := New("token:ann", make([]string, maxNames+1), nil); err == nil {
		t.Error("too many groups are accepted")
	}
	if _, err := New("token:ann", nil, make([]string, maxNames+1)); err == nil {
		t.Error("too many scopes are accepted")
	}
}

func TestNamed_isNoCallerWithoutAName(t *testing.T) {
	for principal, want := range map[string]bool{"": false, Anonymous: false, "token:anonymous": true, "stdio:1000": true, "cli": true} {
		if got := Named(principal); got != want {
			t.Errorf("%q: got %t, want %t", principal, got, want)
		}
	}
}

func TestWho_comparesNamesByteForByte(t *testing.T) {
	for _, test := range []struct {
		who  string
		id   Identity
		want bool
	}{
		{"token:ann", Identity{Principal: "token:ann"}, true},
		{"token:ann", Identity{Principal: "token:Ann"}, false},
		{"token:ann", Identity{Principal: "token:ann2"}, false},
		{"token:ann", Identity{Principal: "token:bob", Groups: []string{"token:ann"}, Scopes: []string{"token:ann"}}, false},
		{"group:ops", Identity{Principal: "token:bob", Groups: []string{"dev", "ops"}}, true},
		{"group:ops", Identity{Principal: "token:bob", Groups: []string{"Ops", "ops2"}}, false},
		{"group:ops", Identity{Principal: "ops", Scopes: []string{"ops"}}, false},
		{"group:ops", Identity{Principal: "group:ops"}, false},
		{"scope:a:b", Identity{Scopes: []string{"a:b"}}, true},
		{"scope:write", Identity{Groups: []string{"write"}}, false},
		{"group:scope:x", Identity{Groups: []string{"scope:x"}}, true},
		{"group:scope:x", Identity{Scopes: []string{"x"}}, false},
		{"all", Identity{Principal: "anonymous"}, true},
		{"anonymous", Identity{Principal: "token:ann"}, false},
	} {
		w, err := ParseWho([]string{test.who})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Has(test.id); got != test.want {
			t.Errorf("%s has %v: got %v, want %v", test.who, test.id, got, test.want)
		}
		if w.String() != test.who {
			t.Errorf("got %q, want %q", w, test.who)
		}
	}
	if (Who{}).Has(Identity{Principal: "token:ann", Groups: []string{""}}) {
		t.Error("the empty set has a caller")
	}
}

// A name is in a set that has all of its callers.
func TestWho_includesNames(t *testing.T) {
	w, err := ParseWho([]string{"token:ann", "group:ops", "scope:read"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"token:ann": true, "group:ops": true, "scope:read": true,
		"token:ops": false, "group:read": false, "scope:ops": false, "group:Ops": false, "all": false} {
		if got := w.Includes(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if everyone, err := ParseWho([]string{"all"}); err != nil || !everyone.Includes("all") || !everyone.Includes("group:ops") {
		t.Errorf("all: got %v, %v, want each name in it", everyone, err)
	}
}

func TestParseWho_refusesNamesThatMatchNobody(t *testing.T) {
	for _, names := range [][]string{nil, {""}, {"ops"}, {"group:"}, {"scope:"}, {"group: ops"}, {"group:e\u0301"}, {"*"}, {"token:ann", "ann"}, {"group:a\tb"}} {
		if w, err := ParseWho(names); err == nil {
			t.Errorf("%q: got %v, want an error", names, w)
		}
	}
}

// Rules are compared by the text of their callers, so that one name must not read as two.
func TestWho_textIsInjective(t *testing.T) {
	seen := map[string][]string{}
	for _, names := range [][]string{
		{"token:x, token:y"}, {"token:x", "token:y"}, {`token:x", "token:y`}, {`token:x"`, `"token:y`}, {`"token:x`, `token:y"`}, {`"token:x, token:y"`},
		{"group:a, group:b"}, {"group:a", "group:b"}, {`token:\"`}, {`token:"`},
	} {
		w, err := ParseWho(names)
		if err != nil {
			t.Fatalf("%q: %v", names, err)
		}
		if others := seen[w.String()]; others != nil {
			t.Errorf("%q and %q: got the same text %s, want two", others, names, w)
		}
		seen[w.String()] = names
	}
}
