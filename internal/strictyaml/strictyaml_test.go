package strictyaml

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"
)

var testLimits = Limits{Bytes: 1 << 20, Depth: 8}

func TestParse_refusesHiddenMeaning(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"duplicate key":         {"a: 1\nb: 2\na: 3\n", `line 3: key "a" is already on line 1`},
		"duplicate quoted key":  {"a: 1\n\"a\": 2\n", `line 2: key "a" is already on line 1`},
		"duplicate nested key":  {"a:\n  - {b: 1, b: 2}\n", `line 2: key "b" is already on line 2`},
		"duplicate number":      {"0: a\n00: b\n", `line 2: key "00" is the same as key "0" on line 1`},
		"duplicate null":        {"~: a\nnull: b\n", `line 2: key "null" is the same as key "~" on line 1`},
		"number and its text":   {"1: a\n\"1\": b\n", `line 2: key "1" is already on line 1`},
		"anchor":                {"a: &x 1\n", "line 1: anchors and aliases are not read here; write the value out"},
		"anchor of a key":       {"&x a: 1\n", "line 1: anchors and aliases are not read here; write the value out"},
		"anchor of the root":    {"&x\na: 1\n", "line 1: anchors and aliases are not read here; write the value out"},
		"alias of nothing":      {"a: *x\n", "unknown anchor 'x' referenced"},
		"merge":                 {"<<: {b: 1}\n", "line 1: a key must be plain text"},
		"tag":                   {"a: !!str 1\n", "line 1: tags are not read here; remove !!str"},
		"tag of a key":          {"!!str 1: a\n", "line 1: tags are not read here; remove !!str"},
		"list as a key":         {"[a]: 1\n", "line 1: a key must be plain text"},
		"second document":       {"a: 1\n---\nb: 1\n", "holds more than one document"},
		"empty second document": {"a: 1\n---\n", "holds more than one document"},
		"text behind the end":   {"a: 1\n...\n]\n", "line 3: did not find expected <document start>"},
		"list as the root":      {"\n- a\n", "line 2: want keys and values at the top level"},
		"tab":                   {"a:\n\tb: 1\n", "line 2: a tab begins this line: YAML wants blanks"},
		"syntax error":          {"\na: b: c\n", "line 2: mapping values are not allowed in this context: put a text with \": \" in it into quotes, or correct the blanks that begin the line"},
		"open bracket":          {"a: 1\n\nb: [1, 2\nc: 3\n", "line 3: did not find expected ',' or ']'"},
		"too deep":              {"a: " + strings.Repeat("[", 9) + strings.Repeat("]", 9), "line 1: nested deeper than 8"},
		"too large":             {"#" + strings.Repeat("x", 1<<20), "larger than 1 MiB"},
	} {
		_, err := Parse([]byte(c.text), testLimits)
		var problem *Error
		if !errors.As(err, &problem) || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestParse_readsAnEmptyDocument(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "~\n", "\ufeff"} {
		if root, err := Parse([]byte(text), testLimits); root != nil || err != nil {
			t.Errorf("%q: got %v, %v, want no root", text, root, err)
		}
	}
}

func TestParse_keepsThePlaceOfEachNode(t *testing.T) {
	text := "\n# remark\na:\n  - {b: 1}\n"
	marked := "\ufeff" + text
	wide := []byte{0xff, 0xfe} // as redirected output of PowerShell
	for _, unit := range utf16.Encode([]rune(text)) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	for name, data := range map[string][]byte{"UTF-8": []byte(text), "UTF-8 with a mark": []byte(marked), "UTF-16": wide} {
		root, err := Parse(data, testLimits)
		if err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
			continue
		}
		key, list := root.Member("a")
		if key.Line != 3 || key.Column != 1 || list.Line != 4 || list.Column != 3 || list.Flow {
			t.Errorf("%s: got key %+v and list %+v, want 3:1 and 4:3 in block style", name, key, list)
		}
		if b := list.Items[0]; b.Line != 4 || b.Column != 5 || !b.Flow {
			t.Errorf("%s: got %+v, want braces on line 4, column 5", name, b)
		}
	}
}

func TestHint_namesTheNearestKey(t *testing.T) {
	known := []string{"source", "digest", "limits", "dev"}
	for unknown, want := range map[string]string{
		"sorce": "; did you mean source?", "Source": "; did you mean source?", "limit": "; did you mean limits?", "limtis": "; did you mean limits?",
		"x": "; known are source, digest, limits, dev", "": "; known are source, digest, limits, dev", "grants": "; known are source, digest, limits, dev",
		"de": "; did you mean dev?", "url": "; known are source, digest, limits, dev",
	} {
		if got := Hint(unknown, known); got != want {
			t.Errorf("%q: got %q, want %q", unknown, got, want)
		}
	}
}

// FuzzParse compares a document that is accepted with the meaning that the library gives to it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"a: [x, {b: True, c: ~}]\nd: 0x1F\ne: 1.50\nf: .inf", "? a\n: b", "a: |\n  two\n  lines\n", "'a': \"\\u0041\"", "a: 2026-01-02", "%YAML 1.2\n---\na: b\n...\n", "0:\n00:", "1: a\n\"1\": b", ".nan: a\n.NaN: b", "1: a\n1.0: b",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { compareWithLibrary(t, text) })
}

func TestParse_meansTheSameAsTheLibrary(t *testing.T) {
	pieces := []string{"a", "b", "c", ": ", ":", "\n", "\n  ", "\n    ", "- ", "[", "]", "{", "}", ", ", "'", "\"", "&x ", "*x", "!!str ", "<<", "~", "true", "1.5", "0x1F", "# r", "|\n", "---\n", "...\n", "\t", "? "}
	r := rand.New(rand.NewPCG(20261122, 2))
	accepted := 0
	for range 50_000 {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if compareWithLibrary(t, b.String()) {
			accepted++
		}
	}
	if accepted < 1000 {
		t.Errorf("got %d accepted documents, want 1000 for a comparison", accepted)
	}
}

// compareWithLibrary reports whether a text is accepted.
func compareWithLibrary(t *testing.T, text string) bool {
	t.Helper()
	root, err := Parse([]byte(text), testLimits)
	if err != nil || root == nil {
		return false
	}
	var want any
	if err := yaml.Unmarshal([]byte(text), &want); err != nil {
		t.Errorf("%q: got no error, want %v as of the library", text, err)
		return true
	}
	var got any
	if err := json.Unmarshal(root.JSON(), &got); err != nil {
		t.Fatalf("%q: %s: got %v, want no error", text, root.JSON(), err)
	}
	if !sameMeaning(got, want) {
		t.Errorf("%q: got %v, want %v", text, got, want)
	}
	return true
}

// sameMeaning compares JSON with values of the library. A number without a form in JSON and a date are texts in JSON.
func sameMeaning(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		members, ok := got.(map[string]any)
		for key, value := range want {
			ok = ok && sameMeaning(members[key], value)
		}
		return ok && len(members) == len(want)
	case map[any]any: // a key is no text: JSON has its text
		members, ok := got.(map[string]any)
		return ok && len(members) == len(want)
	case []any:
		items, ok := got.([]any)
		ok = ok && len(items) == len(want)
		for i := 0; ok && i < len(items); i++ {
			ok = sameMeaning(items[i], want[i])
		}
		return ok
	case nil, bool, string:
		return reflect.DeepEqual(got, want)
	}
	raw, err := json.Marshal(want)
	if _, isText := got.(string); isText {
		return true
	}
	var number float64
	return err == nil && json.Unmarshal(raw, &number) == nil && reflect.DeepEqual(got, number)
}
