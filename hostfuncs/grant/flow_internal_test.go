package grant

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseFlow_nestedMapsAndLists(t *testing.T) {
	n, rest, err := parseFlow(`{a: b c, "d: e": [x, "y, z", {k: 1}], f: {}} tail`, 7)
	want := Node{Line: 7, Kind: Map, Nodes: []Node{
		{Line: 7, Key: "a", Value: "b c"},
		{Line: 7, Key: "d: e", Kind: List, Nodes: []Node{
			{Line: 7, Value: "x"}, {Line: 7, Value: "y, z"}, {Line: 7, Kind: Map, Nodes: []Node{{Line: 7, Key: "k", Value: "1"}}},
		}},
		{Line: 7, Key: "f", Kind: Map},
	}}
	if err != nil || rest != "tail" || !reflect.DeepEqual(n, want) {
		t.Errorf("got %+v, rest %q, %v; want %+v", n, rest, err, want)
	}
}

func TestParseFlow_namesLineOfError(t *testing.T) {
	for text, want := range map[string]string{
		"{a}":                      "line 3: options are written {name: value, name: value}",
		"{a: 1, a: 2}":             `line 3: "a" is there twice`,
		"{a: {b}":                  "line 3: options are written {name: value, name: value}",
		"[a":                       `line 3: ']' is missing at ""`,
		`["a`:                      `line 3: a value in braces is plain text or "text in quotes"`,
		"[a}b]":                    `line 3: ']' is missing at "}b]"`,
		strings.Repeat("[", 1<<16): "line 3: braces nest deeper than 8",
	} {
		if _, _, err := parseFlow(text, 3); err == nil || err.Error() != want {
			t.Errorf("%.20s: got error %v, want %s", text, err, want)
		}
	}
}

// Formatted text parses to the same value.
func FuzzFlow(f *testing.F) {
	f.Add("name", "value", "a, b")
	f.Add("", `"`, "{}")
	f.Add("a: b", "\x00", "\u2028 #")
	f.Fuzz(func(t *testing.T, key, value, other string) {
		for _, s := range []string{key, value, other} {
			if strings.ToValidUTF8(s, "") != s {
				return
			}
		}
		n, rest, err := parseFlow(formatMap(map[string]string{key: value}), 1)
		if err != nil || rest != "" || len(n.Nodes) != 1 || n.Nodes[0].Key != key || n.Nodes[0].Value != value {
			t.Errorf("%q: %q is %+v, %q, %v", key, value, n, rest, err)
		}
		n, rest, err = parseFlow(formatList([]string{value, other}), 1)
		if err != nil || rest != "" || len(n.Nodes) != 2 || n.Nodes[0].Value != value || n.Nodes[1].Value != other {
			t.Errorf("%q, %q is %+v, %q, %v", value, other, n, rest, err)
		}
	})
}

func TestParseError_namesFileAndLine(t *testing.T) {
	for want, e := range map[string]ParseError{"wrong": {Message: "wrong"}, "line 2: wrong": {Line: 2, Message: "wrong"}, "f:2: wrong": {File: "f", Line: 2, Message: "wrong"}} {
		if e.Error() != want {
			t.Errorf("got %s, want %s", e.Error(), want)
		}
	}
}
