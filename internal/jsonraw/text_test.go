package jsonraw_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

func TestString_decodesEscapes(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`""`, ""},
		{` "a" `, "a"},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{`"\u00e9\u20AC"`, "é€"},
		{`"\ud83d\ude00!"`, "😀!"},
		{`"\ud800"`, "\uFFFD"},
		{`"\ud800\u0041"`, "\uFFFDA"},
		{`"\udc00\ud800x"`, "\uFFFD\uFFFDx"},
		{`"\ufffd"`, "\uFFFD"},
		{`"\u0000"`, "\x00"},
	} {
		if got, ok := jsonraw.String([]byte(c.in)); !ok || got != c.want {
			t.Errorf("String(%s) = %q, %v, want %q", c.in, got, ok, c.want)
		}
	}
	for _, bad := range []string{``, `1`, `null`, `"`, `"a`, `"a"b`, `"a" "b"`, "\"\xff\"", `"\"`} {
		if got, ok := jsonraw.String([]byte(bad)); ok {
			t.Errorf("String(%q) = %q, want none", bad, got)
		}
	}
}

func TestAppendString_escapesForJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", `""`},
		{"a\"b\\c", `"a\"b\\c"`},
		{"\b\f\n\r\t\x00\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\""},
		{"<a href='x'>&</a>\u2028", "\"<a href='x'>&</a>\u2028\""},
		{"é😀", `"é😀"`},
		{"a\xffb\xed\xa0\x80", "\"a\uFFFDb\uFFFD\uFFFD\uFFFD\""},
	} {
		if got := string(jsonraw.AppendString(nil, c.in)); got != c.want {
			t.Errorf("AppendString(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, s := range samples {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		encoded := jsonraw.AppendString(nil, s)
		back, ok := jsonraw.String(encoded)
		if !ok || (utf8.ValidString(s) && back != s) {
			t.Fatalf("%q as %s: got %q, %v; want it back", s, encoded, back, ok)
		}
		var want string
		got, ok := jsonraw.String([]byte(s))
		if std := json.Unmarshal([]byte(s), &want) == nil && utf8.ValidString(s) && !jsonraw.IsNull([]byte(s)); std != ok || got != want && ok {
			t.Fatalf("String(%q) = %q, %v; encoding/json says %q, %v", s, got, ok, want, std)
		}
		scan := jsonraw.ScanObject([]byte(`{` + string(encoded) + `:1}`))
		if !scan.Next() || !scan.KeyIs(back) || scan.KeyIs(back+"x") {
			t.Fatalf("got no key, or KeyIs wrong for %q, want only it", back)
		}
	})
}
