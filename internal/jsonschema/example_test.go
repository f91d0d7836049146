package jsonschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestExample_fitsTheSchema(t *testing.T) {
	for schema, want := range map[string]string{
		``:                  `{}`,
		`{"type":"string"}`: `{}`, // not a schema of arguments
		`{"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer","minimum":3},"n":{"type":"number"},
		  "b":{"type":"boolean"},"a":{"type":"array","items":{"type":"string"}},"e":{"enum":["x","y"]},
		  "o":{"type":"object","properties":{"d":{"default":7,"type":"integer"}}},"u":{"type":["integer","null"]},
		  "c":{"anyOf":[{"const":"k"},{"type":"null"}]}},"required":["s","i","n","b","a","e","o"]}`: `{"a":["example"],"b":false,"c":"k","e":"x","i":3,"n":1,"o":{"d":7},"s":"example","u":1}`,
	} {
		got := Example(json.RawMessage(schema))
		if string(got) != want {
			t.Errorf("%s: got %s, want %s", schema, got, want)
		}
	}
}

// TestExample_isBounded gives it a schema that doubles at each level, and one that is deep.
func TestExample_isBounded(t *testing.T) {
	wide := `{"type":"string"}`
	for range 20 {
		wide = `{"type":"object","properties":{"a":` + wide[:min(len(wide), 1<<16)] + `,"b":{"type":"string"}}}`
		if len(wide) > 1<<15 {
			break
		}
	}
	var many strings.Builder
	many.WriteString(`{"type":"object","properties":{`)
	for i := range 10_000 {
		fmt.Fprintf(&many, `"p%d":{"type":"array","items":{"type":"string"}},`, i)
	}
	many.WriteString(`"z":{}}}`)
	for _, schema := range []string{wide, many.String()} {
		if got := Example(json.RawMessage(schema)); len(got) > 64<<10 || !json.Valid(got) {
			t.Errorf("got %d bytes, want a bounded object", len(got))
		}
	}
}
