package grant_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func TestArgumentValues_findsTextNumbersAndBooleans(t *testing.T) {
	args := json.RawMessage(`{"s":"a\u0062","n":7,"neg":-3,"big":9007199254740993,"frac":1.5,"exp":1e3,"zero":-0,
		"b":true,"null":null,"o":{"in":"x","deep":{"er":[1,2]}},"list":["a",2,null,{"k":"v"},["no"],false],"objs":[{"k":"1"},{"k":["2","3"]},4],"empty":""}`)
	for path, want := range map[string]string{
		"s": "ab", "n": "7", "neg": "-3", "b": "true", "o.in": "x", "o.deep.er": "1,2", "o.deep.er.*": "1,2",
		"list": "a,2,false", "list.*": "a,2,false", "objs.*.k": "1,2,3", "empty": "",
		"big": "-", "frac": "-", "exp": "-", "zero": "-", "null": "-", "o": "-", "nope": "-", "s.x": "-", "s.*": "-", "list.k": "-",
	} {
		got := grant.ArgumentValues(args)(strings.Split(path, "."))
		text := strings.Join(got, ",")
		if len(got) == 0 {
			text = "-"
		}
		if text != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestArgumentValues_noneForAmbiguousKeys(t *testing.T) {
	for _, args := range []string{"", "null", `"text"`, `[]`, `{"x":"a","x":"b"}`, `{"x":"a","o":{"y":1,"y":2}}`, `{"x":"a","\u0078":"b"}`} {
		if got := grant.ArgumentValues(json.RawMessage(args))([]string{"x"}); len(got) != 0 {
			t.Errorf("%s: %q", args, got)
		}
	}
}

func TestArgumentValues_bounded(t *testing.T) {
	args := `{"x":["a"` + strings.Repeat(`,"a"`, 5000) + `]}`
	if got := grant.ArgumentValues(json.RawMessage(args))([]string{"x"}); len(got) != 1024 {
		t.Errorf("%d values", len(got))
	}
}

func TestNamedValues_joinsPath(t *testing.T) {
	v := grant.NamedValues(map[string]string{"id": "7"})
	if got := v([]string{"id"}); !slices.Equal(got, []string{"7"}) || v([]string{"no"}) != nil {
		t.Errorf("got %q", got)
	}
}

func TestCheckArgument_findsNamesInSchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","$defs":{"name":{"type":"string"},"loop":{"$ref":"#/$defs/loop"}},
		"properties":{"s":{"type":"string"},"n":{"type":["integer","null"]},"o":{"type":"object","properties":{"in":{"$ref":"#/$defs/name"}}},
		"list":{"type":"array","items":{"type":"string"}},"objs":{"type":"array","items":{"type":"object","properties":{"k":{"type":"boolean"}}}},
		"any":{},"yes":true,"loop":{"$ref":"#/$defs/loop"},"alt":{"anyOf":[{"type":"object"},{"type":"string"}]},"enum":{"enum":["a"]}},
		"allOf":[{"properties":{"more":{"type":"string"}}}]}`)
	for path, want := range map[string]string{
		"s": "", "n": "", "o.in": "", "list": "", "list.*": "", "objs.*.k": "", "any": "", "yes": "", "more": "", "alt": "", "enum": "",
		"o":    `argument "o" is neither text, nor a whole number, nor true or false, nor a list of them`,
		"objs": `argument "objs" is neither text, nor a whole number, nor true or false, nor a list of them`,
		"loop": `argument "loop" is neither text, nor a whole number, nor true or false, nor a list of them`,
		"nope": `there is no argument "nope"`, "o.nope": `there is no argument "o.nope"`, "s.*": `there is no argument "s.*"`,
	} {
		got := ""
		if err := grant.CheckArgument(schema, strings.Split(path, ".")); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if err := grant.CheckArgument(nil, []string{"x"}); err == nil {
		t.Error("no schema names an argument")
	}
}
