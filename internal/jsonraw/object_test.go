package jsonraw_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

func TestParseObject_keepsOrderAndBytes(t *testing.T) {
	o, err := jsonraw.ParseObject([]byte(` { "b" : 1.00 , "\u0061" : [ 1 , 2 ] , "c":{"x":1e400} } `))
	if err != nil {
		t.Fatal(err)
	}
	want := jsonraw.Object{
		{Key: "b", Value: json.RawMessage(`1.00`)},
		{Key: "a", Value: json.RawMessage(`[ 1 , 2 ]`)},
		{Key: "c", Value: json.RawMessage(`{"x":1e400}`)},
	}
	same := func(a, b jsonraw.Member) bool { return a.Key == b.Key && string(a.Value) == string(b.Value) }
	if !slices.EqualFunc(o, want, same) {
		t.Errorf("got %q, want %q", o, want)
	}
	if got, want := string(o.Append(nil)), `{"b":1.00,"a":[ 1 , 2 ],"c":{"x":1e400}}`; got != want {
		t.Errorf("Append = %s, want %s", got, want)
	}
}

func TestParseObject_refusesMalformedAndDuplicateMembers(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`[]`, "json: want an object, but got another value at offset 0"},
		{` null`, "json: want an object, but got another value at offset 1"},
		{``, "json: unexpected end at offset 0"},
		{`{"a":1,"b":2,"\u0061":3}`, `json: duplicate key "a"`},
		{`{"a":1}x`, "json: data after the value at offset 7"},
		{`{"a":1,}`, "json: invalid character at offset 7"},
		{`{"a":1;}`, "json: invalid character at offset 6"},
		{`{"a"=1}`, "json: invalid character at offset 4"},
		{`{"a":[1,{]}`, "json: invalid character at offset 9"},
		{`{"a\`, "json: invalid escape at offset 3"},
	} {
		if o, err := jsonraw.ParseObject([]byte(c.in)); err == nil || err.Error() != c.want || o != nil {
			t.Errorf("ParseObject(%q) = %v, %v, want %s", c.in, o, err, c.want)
		}
	}
	var duplicate *jsonraw.DuplicateKeyError
	if _, err := jsonraw.ParseObject([]byte(`{"k":1,"k":1}`)); !errors.As(err, &duplicate) || duplicate.Key != "k" {
		t.Errorf("got %v, want a DuplicateKeyError for k", err)
	}
}

func TestObject_setsAndDeletesMembers(t *testing.T) {
	o, err := jsonraw.ParseObject([]byte(`{"a":1,"b":2,"c":3}`))
	if err != nil {
		t.Fatal(err)
	}
	o.Set("b", json.RawMessage(`"two"`))
	o.Set("d\n", json.RawMessage(`4`))
	o.Delete("a")
	o.Delete("absent")
	o.Set("e", nil)
	if got, want := string(o.Append([]byte("> "))), `> {"b":"two","c":3,"d\n":4,"e":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := o.Get("c"); string(got) != "3" {
		t.Errorf("Get(c) = %s, want 3", got)
	}
	if got := o.Get("a"); got != nil {
		t.Errorf("Get(a) = %s, want nil", got)
	}
	var empty jsonraw.Object
	if got := string(empty.Append(nil)); got != "{}" {
		t.Errorf("empty object: got %s, want {}", got)
	}
}

func TestObject_setLeavesTheDocumentUnchanged(t *testing.T) {
	raw := []byte(`{"a":1,"b":2}`)
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(o.Get("a"), "9999"...)
	if string(raw) != `{"a":1,"b":2}` {
		t.Errorf("an append to a view changed the document: got %s, want %s", raw, `{"a":1,"b":2}`)
	}
}

func TestGet_findsMembersByPath(t *testing.T) {
	raw := []byte(` {"a":{"b\u0063":[1, 2],"n":null},"s":"x","a":7} `)
	for _, c := range []struct {
		path []string
		want string
	}{
		{nil, `{"a":{"b\u0063":[1, 2],"n":null},"s":"x","a":7}`},
		{[]string{"a", "bc"}, `[1, 2]`},
		{[]string{"a", "n"}, `null`},
		{[]string{"s"}, `"x"`},
		{[]string{"a"}, `{"b\u0063":[1, 2],"n":null}`},
	} {
		if got := jsonraw.Get(raw, c.path...); string(got) != c.want {
			t.Errorf("Get(%q) = %s, want %s", c.path, got, c.want)
		}
	}
	for _, path := range [][]string{{"x"}, {"s", "x"}, {"a", "bc", "0"}, {"a", "n", "z"}} {
		if got := jsonraw.Get(raw, path...); got != nil {
			t.Errorf("Get(%q) = %s, want nil", path, got)
		}
	}
}

func TestGet_doesNotAllocate(t *testing.T) {
	raw := []byte(document)
	escaped := []byte(`{"\u0061":{"\n":1}}`)
	n := testing.AllocsPerRun(100, func() {
		if jsonraw.Get(raw, "params", "_meta", "progressToken") == nil || jsonraw.Get(escaped, "a", "\n") == nil {
			t.Fatal("Get = nil, want both values")
		}
	})
	if n != 0 {
		t.Errorf("Get: got %v allocations, want 0", n)
	}
}

func TestElements_splitsAnArray(t *testing.T) {
	got, err := jsonraw.Elements([]byte(` [ 1 , "a,]" ,[2 , 3],{} ] `))
	if want := []string{`1`, `"a,]"`, `[2 , 3]`, `{}`}; err != nil || !slices.EqualFunc(got, want,
		func(a json.RawMessage, b string) bool { return string(a) == b }) {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if got, err := jsonraw.Elements([]byte(`[]`)); err != nil || len(got) != 0 {
		t.Errorf("empty array: got %s, %v; want no elements, no error", got, err)
	}
	for _, bad := range []string{`{}`, `[1`, `[1,]`, `[1]]`, ``} {
		if _, err := jsonraw.Elements([]byte(bad)); err == nil {
			t.Errorf("Elements(%q): got no error, want one", bad)
		}
	}
}

func TestIsNull_holdsForNullAndNothing(t *testing.T) {
	for _, s := range []string{``, `null`, ` null `, "\n"} {
		if !jsonraw.IsNull([]byte(s)) {
			t.Errorf("IsNull(%q) = false, want true", s)
		}
	}
	for _, s := range []string{`0`, `""`, `"null"`, `false`, `{}`} {
		if jsonraw.IsNull([]byte(s)) {
			t.Errorf("IsNull(%q) = true, want false", s)
		}
	}
}

func TestDuplicateKey_returnsThePath(t *testing.T) {
	wide := func(extra string) string {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return "{" + b.String() + extra + "}"
	}
	for _, c := range []struct{ in, want string }{
		{`{"a":1,"a":2}`, "/a"},
		{`{"a":{"b":[0,{"c":1,"\u0063":2}]}}`, "/a/b/1/c"},
		{`{"a/b":{"~":1,"~":2}}`, "/a~1b/~0"},
		{`[{"":1,"":2}]`, "/0/"},
		{`{"a":{"x":1,"y":2},"b":{"x":1,"x":2}}`, "/b/x"},
		{wide(`"k7":0`), "/k7"},
		{wide(`"z":{"k7":0}, "z" : 1`), "/z"},
		{`{"a":1,"\ud800":1,"\ud801":2}`, "/\uFFFD"},
	} {
		if path, found := jsonraw.DuplicateKey([]byte(c.in)); !found || path != c.want {
			t.Errorf("DuplicateKey(%.60s) = %q, %v, want %q", c.in, path, found, c.want)
		}
	}
	for _, in := range []string{`{}`, `[]`, `1`, `{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}`, wide(`"z":{"k7":0}`), document} {
		if path, found := jsonraw.DuplicateKey([]byte(in)); found {
			t.Errorf("DuplicateKey(%.60s) = %q, want none", in, path)
		}
	}
}

// Keys that encoding/json takes for equal are ambiguous.
func TestAmbiguousKey_findsKeysEqualForEncodingJSON(t *testing.T) {
	wide := ""
	for i := range 100 {
		wide += fmt.Sprintf(`"k%d":%d,`, i, i)
	}
	for _, c := range []struct{ in, want string }{
		{`{"name":1,"Name":2}`, "/Name"},
		{`{"a":{"arguments":1,"argument\u017f":2}}`, "/a/argument\u017f"},
		{`[{"token":1,"to\u212aen":2}]`, "/0/to\u212aen"},
		{`{"é":1,"É":2}`, "/É"},
		{`{"a":1,"a":2}`, "/a"},
		{`{"a":[{"name\u0000":1}]}`, "/a/0/name\x00"},
		{"{" + wide + `"K99":0}`, "/K99"},
		{"{" + wide + `"\u212a0":0}`, "/\u212a0"},
	} {
		if path, found := jsonraw.AmbiguousKey([]byte(c.in)); !found || path != c.want {
			t.Errorf("AmbiguousKey(%.60s) = %q, %v, want %q", c.in, path, found, c.want)
		}
	}
	for _, in := range []string{`{}`, `{"a":{"b":1},"B":{"a":1}}`, "{" + wide + `"k100":{"K1":1}}`, `{"ß":1,"ss":2}`, `{"İ":1,"i":2}`} {
		if path, found := jsonraw.AmbiguousKey([]byte(in)); found {
			t.Errorf("AmbiguousKey(%.60s) = %q, want none", in, path)
		}
	}
}

// TestFold_agreesWithEncodingJSON compares Fold with encoding/json for every character.
func TestFold_agreesWithEncodingJSON(t *testing.T) {
	compared := 0
	for r := rune(1); r <= unicode.MaxRune; r++ {
		least := jsonraw.Fold(string(r))
		if first, _ := utf8.DecodeRuneInString(least); !utf8.ValidRune(r) || least == string(r) || !unicode.IsLetter(first) {
			continue // not possible in a field name
		}
		field := reflect.StructOf([]reflect.StructField{{Name: "F", Type: reflect.TypeFor[int](), Tag: reflect.StructTag(fmt.Sprintf("json:%q", least))}})
		v := reflect.New(field)
		key := jsonraw.AppendString(nil, string(r))
		if err := json.Unmarshal([]byte("{"+string(key)+":7}"), v.Interface()); err != nil {
			t.Fatal(err)
		}
		compared++
		if v.Elem().Field(0).Int() != 7 {
			t.Errorf("encoding/json with %q in place of %q: got %d, want 7", string(r), least, v.Elem().Field(0).Int())
		}
	}
	t.Logf("%d characters compared", compared)
	if compared < 1000 {
		t.Errorf("got %d characters compared, want at least 1000", compared)
	}
}

func TestDuplicateKey_readsWideObjectsOnce(t *testing.T) {
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, `"key%d":0,`, i)
	}
	if _, found := jsonraw.DuplicateKey([]byte("{" + b.String() + `"key0":1}`)); !found {
		t.Error("DuplicateKey of 'key0' twice: got none, want it found")
	}
}

func TestDuplicateKey_allocatesOnceForAFewKeys(t *testing.T) {
	raw := []byte(`{"name":"x","arguments":{"a":1,"b":{"c":[1,2,{"d":1}]}}}`)
	if n := testing.AllocsPerRun(100, func() { jsonraw.DuplicateKey(raw) }); n > 1 {
		t.Errorf("got %v allocations, want at most 1", n)
	}
}

func BenchmarkGet(b *testing.B) {
	raw := []byte(document)
	b.ReportAllocs()
	for b.Loop() {
		_ = jsonraw.Get(raw, "params", "name")
	}
}

func BenchmarkParseObject(b *testing.B) {
	raw := []byte(document)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = jsonraw.ParseObject(raw)
	}
}

func BenchmarkDuplicateKey(b *testing.B) {
	raw := []byte(document)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = jsonraw.DuplicateKey(raw)
	}
}

// FuzzGet compares Get with ParseObject for valid objects, and checks that it never panics on other input.
func FuzzGet(f *testing.F) {
	long := strings.Repeat(`plain \\ \" text é `, 20)
	for _, seed := range []string{
		`{}`, `{"a":1}`, ` { "a" : 1 , "b" : [ 1 , "]" , {"a":"}"} ] , "c" : "\\" } `, `{"a":{"a":[[],{}]},"b":-1e5}`,
		`{"a\"":"\"","b":"\\\\\"","c":null}`, `{"a":"` + long + `","b":["` + long + `"],"c":true}`,
		`{"a":,}`, `{"a"`, `{"a":"`, `{"`, `{"a":1]`, `{"a":[}`, `{"a":"\`, `{"a":1 2}`, `[1]`, `{"\u0061":7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, key := range []string{"a", "b", "c", `a"`} {
			jsonraw.Get(raw, key, "a")
		}
		o, err := jsonraw.ParseObject(raw)
		if err != nil {
			return
		}
		for _, m := range o {
			if got := jsonraw.Get(raw, m.Key); string(got) != string(m.Value) {
				t.Errorf("%q of %q: %q, want %q", m.Key, raw, got, m.Value)
			}
		}
		if got := jsonraw.Get(raw, "\x00no such key"); got != nil && o.Get("\x00no such key") == nil {
			t.Errorf("Get of a key that is not in %q = %q, want nil", raw, got)
		}
	})
}
