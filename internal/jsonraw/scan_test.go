package jsonraw_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// samples are valid or almost valid JSON texts, also used as fuzzing seeds.
var samples = []string{
	``, ` `, `null`, ` true `, `false`, `nul`, `nulll`, `tru`, `True`,
	`0`, `-0`, `-`, `01`, `1.`, `.5`, `1.5e+10`, `1e`, `1e+`, `1E400`, `+1`, `0x1`, `--1`, `1 2`, `NaN`,
	`""`, `"a`, `"`, `"\"`, `"\u00e9\n\/"`, `"\u12"`, `"\u12g4"`, `"\x"`, "\"\t\"", "\"\x7f\"", `"😀"`,
	`"\ud83d\ude00"`, `"\ud800"`, `"\udc00\ud800"`, "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\xaf\"",
	`[]`, `[1,2]`, `[1,]`, `[,1]`, `[1 2]`, `[`, `]`, `[1`, `[1,`, `[[[]]]`, `[}`,
	`{}`, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`, `{"a":1 "b":2}`, `{`, `{"a":1`, `{1:2}`, `{]`,
	`{"a":{"b":[1,{"c":null}]},"\u0061":2}`, "\ufeff{}", "{}\x00", "\v{}", `{"a":"0123456789abcdef\n0123456789"}`,
	`"01234567\"01234567"`, `"0123456é01234567"`, "\"0123456\x1f\"", `{"":{"":""}}`,
}

func TestValid_agreesWithEncodingJSON(t *testing.T) {
	for _, s := range samples {
		want := json.Valid([]byte(s)) && utf8.ValidString(s)
		if err := jsonraw.Valid([]byte(s)); (err == nil) != want {
			t.Errorf("Valid(%q) = %v, want valid = %v", s, err, want)
		}
	}
}

func TestValid_locatesTheFault(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{``, "json: unexpected end at offset 0"},
		{`  `, "json: unexpected end at offset 2"},
		{`{"a":1`, "json: unexpected end at offset 6"},
		{`{"a":x}`, "json: invalid character at offset 5"},
		{`{"a":1}}`, "json: data after the value at offset 7"},
		{`{"a":tru}`, "json: invalid character at offset 8"},
		{"[\"ab\xff\"]", "json: invalid UTF-8 at offset 4"},
		{`"ab\q"`, "json: invalid escape at offset 3"},
		{`-x`, "json: invalid number at offset 1"},
		{`01`, "json: data after the value at offset 1"},
		{"\"\n\"", "json: invalid character at offset 1"},
		{nested(jsonraw.MaxDepth + 1), "json: nesting deeper than 512 at offset 512"},
	} {
		err := jsonraw.Valid([]byte(c.in))
		var syntax *jsonraw.SyntaxError
		if !errors.As(err, &syntax) || err.Error() != c.want {
			t.Errorf("Valid(%.20q) = %v, want %s", c.in, err, c.want)
		}
	}
}

// nested returns n nested arrays.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestMaxDepth_holdsInEveryFunction(t *testing.T) {
	deepest, over := []byte(nested(jsonraw.MaxDepth)), []byte(nested(jsonraw.MaxDepth+1))
	if err := jsonraw.Valid(deepest); err != nil {
		t.Errorf("Valid at MaxDepth: got %v, want no error", err)
	}
	if _, err := jsonraw.Elements(deepest); err != nil {
		t.Errorf("Elements at MaxDepth: got %v, want no error", err)
	}
	if _, err := jsonraw.Elements(over); err == nil {
		t.Error("Elements over MaxDepth: got no error, want one as of Valid")
	}
	mixed := []byte(strings.Repeat(`{"a":[`, jsonraw.MaxDepth/2) + strings.Repeat(`]}`, jsonraw.MaxDepth/2))
	if _, err := jsonraw.ParseObject(mixed); err != nil {
		t.Errorf("ParseObject at MaxDepth: got %v, want no error", err)
	}
	if err := jsonraw.Valid([]byte(strings.Repeat("[", 1<<20))); err == nil {
		t.Error("a million open brackets: got no error, want one")
	}
}

func TestValid_doesNotAllocate(t *testing.T) {
	raw := []byte(document)
	if n := testing.AllocsPerRun(100, func() { _ = jsonraw.Valid(raw) }); n != 0 {
		t.Errorf("Valid: got %v allocations, want 0", n)
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := jsonraw.Valid(raw)
		if want := json.Valid(raw) && utf8.Valid(raw) && depth(raw) <= jsonraw.MaxDepth; (err == nil) != want {
			t.Fatalf("Valid(%q) = %v, want valid = %v", raw, err, want)
		}
		object, elements := readAll(raw)
		if err != nil {
			if object != nil || elements != nil {
				t.Fatalf("%q: got %s and %s for invalid JSON, want nothing", raw, object.Append(nil), elements)
			}
			return
		}
		if rebuilt := object.Append(nil); object != nil && !equalJSON(t, raw, rebuilt) {
			t.Fatalf("%q rebuilt: got %q, want equal JSON", raw, rebuilt)
		}
	})
}

// readAll calls all readers, to detect panics, and returns the split members and elements.
func readAll(raw []byte) (jsonraw.Object, []json.RawMessage) {
	jsonraw.Get(raw, "a", "b")
	jsonraw.String(raw)
	jsonraw.IsNull(raw)
	_, found := jsonraw.DuplicateKey(raw)
	o, err := jsonraw.ParseObject(raw)
	if err != nil || found {
		o = nil
	}
	e, err := jsonraw.Elements(raw)
	if err != nil {
		e = nil
	}
	return o, e
}

func equalJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		return true // encoding/json refuses numbers beyond float64
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatalf("%q: got %v, want no error", b, err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

// depth returns the nesting depth of valid JSON.
func depth(raw []byte) int {
	deepest, open, inString := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			open++
			deepest = max(deepest, open)
		case c == ']' || c == '}':
			open--
		}
	}
	return deepest
}

const document = `{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"time-now",` +
	`"arguments":{"zone":"Europe/Berlin","format":"2006-01-02","n":-1.5e3,"list":[true,false,null]},` +
	`"_meta":{"progressToken":"abc"}}}`

func BenchmarkValid(b *testing.B) {
	raw := []byte(document)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		_ = jsonraw.Valid(raw)
	}
}

func BenchmarkValidLongString(b *testing.B) {
	raw := []byte(`"` + strings.Repeat("the quick brown fox ", 50_000) + `"`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		_ = jsonraw.Valid(raw)
	}
}
