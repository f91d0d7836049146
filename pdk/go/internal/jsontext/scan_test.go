package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
)

// Members finds the same members as encoding/json, and does not panic.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : 1 , "b\"\\":[{"x":"]"},"}"],"c":{"d":null}} `, `{"a":"\u00e9é\ud800"}`, `{"a":1,"a":2}`,
		`{`, `{"a"`, `{"a":`, `{"a":"`, `{"a":"\`, `{"a":1,}`, `{"a":1}x`, `[1]`, `"x"`, ``, `{"a":-1.5e3,"b":true }`, "{\"\xff\":\"\xff\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := map[string]string{}
		err := Members(raw, func(key string, value []byte) error { got[key] = string(value); return nil })
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			return // the host sends only valid JSON
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: got %q, %v; want %q", raw, got, err, want)
		}
		for key, value := range want {
			if got[key] != string(value) {
				t.Errorf("%q: %q is %q, want %q", raw, key, got[key], value)
			}
		}
	})
}

// Elements finds the same elements as encoding/json.
func FuzzElements(f *testing.F) {
	for _, s := range []string{`[]`, ` [ 1 , "]" ,[2,[3]], {"a":["]"]} ] `, `[`, `[1`, `[1,`, `[1,]`, `[1]x`, `{}`, `[null,true,-1.5e3]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got []string
		err := Elements(raw, func(value []byte) error { got = append(got, string(value)); return nil })
		var want []json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			return
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: got %q, %v; want %q", raw, got, err, want)
		}
		for i, value := range want {
			if got[i] != string(value) {
				t.Errorf("%q: %d is %q, want %q", raw, i, got[i], value)
			}
		}
	})
}

// Quote is reversible, and equals the output of encoding/json.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\x00\x1f\x7f", "<é\u2028\U0001F600>", "\xff\xc0", strings.Repeat("x", 100) + "\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := Marshal(s)
		if got := Quote(s); err != nil || string(got) != string(want) {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	})
}
