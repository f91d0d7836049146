package jsonschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTake_refusesUnknownDialectsAndReferences(t *testing.T) {
	const draft4 = `{"$schema":"http://json-schema.org/draft-04/schema","id":"http://a/b","items":{"$ref":"@"}}`
	for raw, want := range map[string]string{
		`{"type":"object","properties":{"zone":{"type":"string"}}}`:                                           "",
		`{"allOf":[` + strings.Repeat(`{"id":"an annotation"},`, 300) + `{}]}`:                                "",
		strings.Replace(draft4, "@", "c", 1):                                                                  `/items/$ref: external reference "c" is not loaded`,
		strings.Replace(draft4, "@", "b", 1):                                                                  "",
		`{"properties":{"$ref":{"type":"string"},"$schema":{"const":"x"},"enum":{"not":{}}}}`:                 "",
		`{"default":{"$ref":"http://example.com"},"examples":[{"$schema":"x"}],"const":{"$ref":"file:///x"}}`: "",
		`{"$ref":"http://example.com/x"}`:                                                                     `/$ref: external reference "http://example.com/x" is not loaded`,
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`:                                             "",
		`{"$id":"http://a/","$defs":{"b":{"$id":"b"}},"$ref":"b#/type"}`:                                      "",
		`{"$schema":"http://json-schema.org/draft-03/schema"}`:                                                `: unknown dialect "http://json-schema.org/draft-03/schema"`,
		`7`:                        ": a schema must be an object or a boolean",
		`{"items":{"$ref":"%zz"}}`: `/items/$ref: "%zz" is no reference`,
		`{"maximum":1e1001}`:       fmt.Sprintf("/maximum: a number with more than %d digits", maxDigits),
		`{"enum":[` + listOf(maxContainers+1, "[]") + `]}`:                         `/enum: more than 1000 arrays and objects in one array`,
		`{"default":[` + listOf(maxContainers+1, "[]") + `]}`:                      "",
		strings.Repeat(`{"not":`, maxDepth) + "{}" + strings.Repeat("}", maxDepth): strings.Repeat("/not", maxDepth) + ": subschemas nested deeper than 64",
		`{"allOf":[` + listOf(maxSubschemas, "{}") + `]}`:                          "/allOf/9999: more than 10000 subschemas",
		`"` + strings.Repeat("x", maxBytes) + `"`:                                  ": 262146 bytes, but at most 262144 are allowed",
	} {
		got := ""
		if _, err := takeCensus(json.RawMessage(raw)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("Take(%.80s)\n got %s\nwant %s", raw, got, want)
		}
	}
}

func listOf(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }

// Names are found in every position, and counts beyond int are reduced.
func TestTake_findsNamesInEveryPosition(t *testing.T) {
	c, err := takeCensus(json.RawMessage(`{"$id":"http://a/","$defs":{"x/y":{"$id":"b","$dynamicAnchor":"n"}},"maxLength":18446744073709551616}`))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.IDs, []string{"", "/$defs/x~1y"}) || !slices.Equal(c.Anchors, []string{"/$defs/x~1y"}) {
		t.Errorf("got ids %q, anchors %q; want the root and $defs, $defs", c.IDs, c.Anchors)
	}
	if n := c.Root.(map[string]any)["maxLength"]; n != json.Number("2147483647") {
		t.Errorf("got maxLength %v, want 2147483647", n)
	}
}
