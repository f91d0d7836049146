package jsonschema

import (
	"encoding/json"
	"testing"
)

// Names and compared values are found in every position, and descriptions are ignored.
func TestUnseen_findsNamesAndComparedValues(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a\u200b":{}}}`:                                               "/properties/a\u200b",
		`{"properties":{"enum":{"enum":["x","\u202e"]}}}`:                             "/properties/enum/enum",
		`{"properties":{"name":{"items":{"const":{"a":"\u200b"}}}}}`:                  "/properties/name/items/const",
		`{"items":[{"pattern":"\u200b"}]}`:                                            "/items/0/pattern",
		`{"anyOf":[{},{"patternProperties":{"\u200b":true}}]}`:                        "/anyOf/1/patternProperties/\u200b",
		`{"$defs":{"d":{"required":["\u200b"]}}}`:                                     "/$defs/d/required",
		`{"dependencies":{"a":["\u200b"]}}`:                                           "/dependencies/a",
		`{"$ref":"#/$defs/\u200b"}`:                                                   "/$ref",
		`{"if":{"then":{"not":{"dependentRequired":{"a":["\u200b"]}}}}}`:              "/if/then/not/dependentRequired",
		`{"description":"\u200b","title":"\u200b","default":"\u200b","x":["\u200b"]}`: "",
		`{"properties":{"const":{"description":"\u200b","examples":["\u200b"]}}}`:     "",
		`{"x":{"enum":["\u200b"]},"examples":[{"const":"\u200b"}]}`:                   "",
		`{"properties":{"e":{"enum":["❤\ufe0f","ü"]}}}`:                               "",
		`7`: "",
	} {
		if at, found := Unseen(json.RawMessage(schema)); at != want || found != (want != "") {
			t.Errorf("%s: %q, %v, want %q", schema, at, found, want)
		}
	}
}
