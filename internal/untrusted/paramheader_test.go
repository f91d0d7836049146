package untrusted

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestFindHeaderParams_returnsMarkedArguments(t *testing.T) {
	for properties, want := range map[string]string{
		`"a":{"type":"string","x-mcp-header":"Region"}`:                                                                              "[{Region [a] string}]",
		`"a":{"type":"integer","x-mcp-header":"A"},"b":{"type":"boolean","x-mcp-header":"B"}`:                                        "[{A [a] integer} {B [b] boolean}]",
		`"a":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"Zone"},"c":{"type":"string","x-mcp-header":"Z2"}}}`: "[{Zone [a b] string} {Z2 [a c] string}]",
		`"a":{"type":"string","x-mcp-h\u0065ader":"Region"}`:                                                                         "[{Region [a] string}]", // a client decodes the key
		`"x-mcp-header":{"type":"string"}`:                                                                                           "[]",                    // a property of that name
		`"a":{"type":"string","default":"x-mcp-header"}`:                                                                             "[]",
		`"a":true,"b":{"type":"string"}`:                                                                                             "[]",
		`"a":{"type":"string","x-mcp-header":"a!#$~"}`:                                                                               "[{a!#$~ [a] string}]",
	} {
		got, err := FindHeaderParams(schema(properties))
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v %v, want %s", properties, got, err, want)
		}
	}
}

func TestFindHeaderParams_refusesInvalidMarks(t *testing.T) {
	for properties, says := range map[string]string{
		`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}`:    "used twice",
		`"a":{"type":"number","x-mcp-header":"A"}`:                                             `"/a": its type`,
		`"a":{"x-mcp-header":"A"}`:                                                             "its type",
		`"a":{"type":["string","null"],"x-mcp-header":"A"}`:                                    "its type",
		`"a":{"type":"string","x-mcp-header":"A b"}`:                                           "not a header name",
		`"a":{"type":"string","x-mcp-header":"ä"}`:                                             "not a header name",
		`"a":{"type":"string","x-mcp-header":""}`:                                              "not a header name",
		`"a":{"type":"string","x-mcp-header":1}`:                                               "not a header name",
		`"a":{"type":"object","properties":{"b":{"x-mcp-header":1}}}`:                          `"/a/b" is not`,
		`"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`:                    `below "items"`,
		`"a":{"oneOf":[{"type":"string","x-mcp-header":"A"}]}`:                                 `below "oneOf"`,
		`"a":{"type":"object","properties":{"b":{"if":{"type":"string","x-mcp-header":"A"}}}}`: `below "if"`,
	} {
		got, err := FindHeaderParams(schema(properties))
		if got != nil || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v %v, want %s", properties, got, err, says)
		}
	}
	if _, err := FindHeaderParams(json.RawMessage(`{"type":"string","x-mcp-header":"A"}`)); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("got %v, want \"root\" in it", err)
	}
}

func TestFindHeaderParams_returnsNoneWithoutMarks(t *testing.T) {
	for _, raw := range []string{"", "true", "{}", `{"properties":1,"title":"x-mcp-header"}`, `[{"x-mcp-header":1}]`,
		strings.Repeat(`{"properties":{"a":`, 40) + `{}` + strings.Repeat(`}}`, 40)} {
		if got, err := FindHeaderParams(json.RawMessage(raw)); got != nil || err != nil {
			t.Errorf("%.40s: got %v %v; want nil, no error", raw, got, err)
		}
	}
}

func schema(properties string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)
}
