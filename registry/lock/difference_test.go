package lock

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDifference_listsChanges(t *testing.T) {
	before := Terms{
		Imports: []string{"a.x", "a.y"}, Wants: []json.RawMessage{json.RawMessage(`{"net":"GET https://a.example/**"}`)},
		Definitions: map[string]json.RawMessage{
			"tool same": json.RawMessage(`{"name":"same","n":1}`),
			"tool gone": json.RawMessage(`{"name":"gone"}`),
			"tool turn": json.RawMessage(`{"name":"turn","description":"turns it","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}`),
		},
	}
	after := Terms{
		Imports: []string{"a.x", "a.z"}, Wants: []json.RawMessage{json.RawMessage(`{ "net": "GET https://b.example/**" }`)},
		Definitions: map[string]json.RawMessage{
			"tool same": json.RawMessage(`{ "n":1, "name":"same" }`),
			"tool new":  json.RawMessage(`{"name":"new"}`),
			"tool turn": json.RawMessage(`{"name":"turn","description":"turns it, and sends it on","inputSchema":{"type":"object","properties":{"q":{"type":"number"}}}}`),
		},
	}
	var got []string
	for _, c := range Difference(before, after) {
		got = append(got, c.What+"|"+c.Before+"|"+c.After)
	}
	want := []string{
		"import|a.y|", "import||a.z",
		`want|{"net":"GET https://a.example/**"}|`, `want||{"net":"GET https://b.example/**"}`,
		`tool gone|{"name":"gone"}|`, "tool new: name||new",
		"tool turn: description|turns it|turns it, and sends it on",
		"tool turn: inputSchema.properties.q.type|string|number",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if same := Difference(after, after); len(same) != 0 {
		t.Errorf("got %+v, want len(same) = 0", same)
	}
}

func show(pieces []Piece) string {
	var out []string
	for _, p := range pieces {
		out = append(out, map[PieceKind]string{Same: "=", Gone: "-", New: "+"}[p.Kind]+p.Text)
	}
	return strings.Join(out, "|")
}

func TestWords_compareWordByWord(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"", "", ""}, {"a b", "a b", "=a b"}, {"a", "b", "-a|+b"}, {"a b c", "a c", "=a|-b|=c"},
		{"Searches notes by words.", "Searches notes and mail by words.", "=Searches notes|+and mail|=by words."},
		{"", "x y", "+x y"}, {"one two three", "three two one", "-one two|=three|+two one"},
	} {
		if got := show(Words(c.before, c.after)); got != c.want {
			t.Errorf("%q → %q: %s, want %s", c.before, c.after, got, c.want)
		}
	}
	long := strings.Repeat("a b ", 50_000)
	if got := Words("x "+long+"y", "z "+long+"q"); len(got) != 2 {
		t.Errorf("%d pieces", len(got))
	}
}

// The pieces rebuild both texts, for random ones.
func TestWords_rebuildBothTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() string {
		var w []string
		for range r.IntN(12) {
			w = append(w, string(rune('a'+r.IntN(4))))
		}
		return strings.Join(w, " ")
	}
	for range 2000 {
		before, after := random(), random()
		var a, b []string
		for _, p := range Words(before, after) {
			if p.Kind != New {
				a = append(a, p.Text)
			}
			if p.Kind != Gone {
				b = append(b, p.Text)
			}
		}
		if strings.Join(a, " ") != before || strings.Join(b, " ") != after {
			t.Fatalf("%q → %q: %s", before, after, show(Words(before, after)))
		}
	}
}

// Every change is shown, also of keys and values that look like others.
func TestDifference_showsEachChange(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{`{"p":{"a":{"description":"good"}}}`, `{"p":{"a":{"description":"evil"}},"p.a.description":"good"}`,
			"tool t: \"p.a.description\"||good;tool t: p.a.description|good|evil"},
		{`{"p":{"a":1}}`, `{"p":{"a":1},"\"p":{"a":1}}`, `tool t: "\"p".a||1`},
		{`{"readOnlyHint":"true"}`, `{"readOnlyHint":true}`, `tool t: readOnlyHint|"true"|true`},
		{`{"default":"[1]"}`, `{"default":[1]}`, `tool t: default|"[1]"|[1]`},
		{`{"a":1}`, `{"a":1,"title":""}`, `tool t: title||""`},
		{`{"a":1}`, `{"a":1,"":2}`, `tool t: ""||2`},
		{`{"a":{}}`, `{"a":{"b":"c"}}`, "tool t: a|{}|;tool t: a.b||c"},
	} {
		terms := func(definition string) Terms {
			return Terms{Definitions: map[string]json.RawMessage{"tool t": json.RawMessage(definition)}}
		}
		var got []string
		for _, c := range Difference(terms(tt.before), terms(tt.after)) {
			got = append(got, c.What+"|"+c.Before+"|"+c.After)
		}
		if strings.Join(got, ";") != tt.want {
			t.Errorf("%s to %s: %q, want %q", tt.before, tt.after, got, tt.want)
		}
	}
}
