package jsonschema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
)

// answers maps values to the error of Validate, "" for none.
type answers map[string]string

func checkAnswers(t *testing.T, raw string, want answers) {
	t.Helper()
	s, err := jsonschema.Compile(json.RawMessage(raw), &jsonschema.Options{Warn: func(msg string) { t.Error(msg) }})
	if err != nil {
		t.Errorf("Compile(%.200s): got %v, want no error", raw, err)
		return
	}
	for value, answer := range want {
		got := ""
		if err := s.Validate(json.RawMessage(value)); err != nil {
			got = err.Error()
		}
		if got != answer {
			t.Errorf("%.200s\n%.200s\n got %q\nwant %q", raw, value, got, answer)
		}
	}
}

func TestValidate_types(t *testing.T) {
	checkAnswers(t, `{"properties":{"a":{"type":"number"},"b":{"type":["string","null"]},"i":{"type":"integer"}}}`, answers{
		`{"a":1,"b":null,"i":3}`:       "",
		`{"a":"x"}`:                    "/a: want number, but got string",
		`{"b":1}`:                      "/b: want null or string, but got number",
		`{"i":1.0}`:                    "",
		`{"i":10e-1}`:                  "",
		`{"i":-1.50e1}`:                "",
		`{"i":1e400}`:                  "",
		`{"i":0.0e-999999999999}`:      "",
		`{"i":1.5}`:                    "/i: want integer, but got number",
		`{"i":1e-1}`:                   "/i: want integer, but got number",
		`{"i":123456789012345678901}`:  "",
		`{"i":true}`:                   "/i: want integer, but got boolean",
		` { "a" : { } } `:              "/a: want number, but got object",
		`{"\u0061":[]}`:                "/a: want number, but got array",
		`{"a":1,"a":"second"}`:         "/a: want number, but got string",
		`[]`:                           "",
		`{"a":1`:                       "is not valid: json: unexpected end at offset 6",
		``:                             "is not valid: json: unexpected end at offset 0",
		"{\"a\":\"\xff\"}":             "is not valid: json: invalid UTF-8 at offset 6",
		`{"unknown":{"deep":[1,2,3]}}`: "",
	})
	checkAnswers(t, `{"type":"object"}`, answers{`{}`: "", `[]`: "want object, but got array", `null`: "want object, but got null"})
	checkAnswers(t, `true`, answers{`{}`: "", `1`: ""})
	checkAnswers(t, `false`, answers{`{}`: "is not allowed"})
	checkAnswers(t, `{}`, answers{`{}`: "", `"x"`: ""})
}

func TestValidate_numbers(t *testing.T) {
	checkAnswers(t, `{"minimum":-2.5,"maximum":18446744073709551617}`, answers{
		`-2.5`: "", `-2.500`: "", `-25e-1`: "", `0`: "", `-0.0`: "",
		`-2.51`:                "want at least -2.5, but got -2.51",
		`-3`:                   "want at least -2.5, but got -3",
		`18446744073709551617`: "",
		`18446744073709551618`: "want at most 18446744073709551617, but got 18446744073709551618",
		`1e999999999`:          "want at most 18446744073709551617, but got 1e999999999",
		`-1e99999999999999999`: "want at least -2.5, but got -1e99999999999999999",
		`1e-99999999999999999`: "",
	})
	checkAnswers(t, `{"exclusiveMinimum":9007199254740993,"exclusiveMaximum":9007199254740995}`, answers{
		`9007199254740994`: "", `9007199254740993.5`: "",
		`9007199254740993`: "want more than 9007199254740993, but got 9007199254740993",
		`9007199254740992`: "want more than 9007199254740993, but got 9007199254740992",
		`9007199254740995`: "want less than 9007199254740995, but got 9007199254740995",
	})
	checkAnswers(t, `{"multipleOf":0.01}`, answers{
		`0.07`: "", `19.99`: "", `1e300`: "", `1e999999999999`: "", `0`: "", `-4.35`: "",
		`0.075`:                   "want a multiple of 0.01, but got 0.075",
		`1e-999999999`:            "want a multiple of 0.01, but got 1e-999999999",
		strings.Repeat("7", 5000): "has too many digits",
	})
	checkAnswers(t, `{"multipleOf":3}`, answers{`9`: "", `-9`: "", `1e5`: "want a multiple of 3, but got 1e5", `3e999999999`: ""})
	checkAnswers(t, `{"multipleOf":250}`, answers{`1e3`: "", `1e2`: "want a multiple of 250, but got 1e2", `500`: "", `25`: "want a multiple of 250, but got 25"})
}

func TestValidate_enums(t *testing.T) {
	checkAnswers(t, `{"enum":["a","é",1,1.5,null,true,[1,{"x":[]}],{"b":1,"a":2}]}`, answers{
		`"a"`: "", `"\u0061"`: "", `"\u00e9"`: "", `1.0`: "", `10e-1`: "", `15e-1`: "", `null`: "", `true`: "",
		`[1.0,{"x":[]}]`: "", `{"a":2,"b":1}`: "",
		`"b"`:     `want one of "a", "é", 1, 1.5, null, true, [1,{"x":[]}] or {"a":2,"b":1}, but got "b"`,
		`false`:   `want one of "a", "é", 1, 1.5, null, true, [1,{"x":[]}] or {"a":2,"b":1}, but got false`,
		`{"a":2}`: `want one of "a", "é", 1, 1.5, null, true, [1,{"x":[]}] or {"a":2,"b":1}, but got {"a":2}`,
	})
	checkAnswers(t, `{"const":1}`, answers{`1.00`: "", `"1"`: `want 1, but got "1"`, `2`: "want 1, but got 2"})
	checkAnswers(t, `{"const":null}`, answers{`null`: "", `0`: "want null, but got 0"})
	checkAnswers(t, `{"enum":[1,2,3,4,5,6,7,8,9,10,11]}`, answers{`11`: "", `12`: "want one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …, but got 12"})
	checkAnswers(t, `{"enum":[]}`, answers{`1`: "want nothing, but got 1"})
	checkAnswers(t, `{"const":[["a"],"b"]}`, answers{`[["a"],"b"]`: "", `[["a","b"]]`: `want [["a"],"b"], but got [["a","b"]]`})
	checkAnswers(t, `{"const":[null,1]}`, answers{`[null,1]`: "", `[null,10]`: "want [null,1], but got [null,10]"})
}

func TestValidate_strings(t *testing.T) {
	checkAnswers(t, `{"minLength":2,"maxLength":3}`, answers{
		`"é😀"`: "", `"\ud83d\ude00\u00e9"`: "", `"abc"`: "", `7`: "",
		`"😀"`:                "want at least 2 characters, but got 1",
		`"abcd"`:             "want at most 3 characters, but got 4",
		`"\n\n\ud800\ud800"`: "want at most 3 characters, but got 4",
	})
	checkAnswers(t, `{"minLength":1}`, answers{`""`: "want at least 1 character, but got 0"})
	checkAnswers(t, `{"maxLength":18446744073709551615}`, answers{`"abc"`: ""})
	checkAnswers(t, `{"pattern":"^a\\d+$"}`, answers{
		`"a12"`: "", `"\u0061\u0031"`: "",
		`"a١"`:  `want text that matches ^a\d+$, but got "a١"`,
		`"xa1"`: `want text that matches ^a\d+$, but got "xa1"`,
	})
	checkAnswers(t, `{"pattern":"\u001b\n[a]"}`, answers{"\"\u009b\"": "want text that matches \\x1b [a], but got \"\\u009b\""})
	checkAnswers(t, `{"pattern":"b"}`, answers{`"abc"`: "", `"ac"`: `want text that matches b, but got "ac"`})
	checkAnswers(t, `{"pattern":"^\\p{Letter}+$"}`, answers{`"été"`: "", `"a1"`: `want text that matches ^\p{Letter}+$, but got "a1"`})
	checkAnswers(t, `{"pattern":"^(?!x)(?<y>a)\\k<y>$"}`, answers{`"aa"`: "", `"ab"`: `want text that matches ^(?!x)(?<y>a)\k<y>$, but got "ab"`})
	checkAnswers(t, `{"pattern":"^[\\w.%+\\-]+@[\\w\\-]+\\.com$"}`, answers{`"a-b@c.com"`: ""})
	checkAnswers(t, `{"pattern":"(?i)^ABC$"}`, answers{`"abc"`: "", `"x"`: `want text that matches (?i)^ABC$, but got "x"`})
	checkAnswers(t, `{"format":"email","contentEncoding":"base64"}`, answers{`"no address"`: ""})
	checkAnswers(t, `{"$schema":"http://json-schema.org/draft-07/schema#","format":"ipv4"}`, answers{`"no address"`: ""})
}

func TestValidate_objects(t *testing.T) {
	checkAnswers(t, smallSchema, answers{
		`{"zone":"UTC","n":0}`:          "",
		`{"n":1}`:                       "/zone: is required",
		`{}`:                            "/zone: is required",
		`{"zone":"UTC","x":1}`:          "/x: is not a known property",
		`{"zone":"UTC","a/b~\u0063":1}`: "/a~1b~0c: is not a known property",
		`{"zone":"UTC","n":-1}`:         "/n: want at least 0, but got -1",
		`{"zone":""}`:                   "/zone: want at least 1 character, but got 0",
		`{"z\u006fne":"UTC"}`:           "",
	})
	checkAnswers(t, `{"minProperties":1,"maxProperties":2,"propertyNames":{"maxLength":2}}`, answers{
		`{"a":1}`: "", `{}`: "want at least 1 property, but got 0",
		`{"a":1,"b":1,"c":1}`: "want at most 2 properties, but got 3",
		`{"abc":1}`:           "/abc: is not an allowed name: want at most 2 characters, but got 3",
	})
	checkAnswers(t, `{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":{"type":"number"}}`, answers{
		`{"x-a":"s","b":1}`: "", `{"x-a":1}`: "/x-a: want string, but got number", `{"b":"s"}`: "/b: want number, but got string",
	})
	checkAnswers(t, `{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["d"]}}}`, answers{
		`{"a":1,"b":1}`: "", `{"a":1}`: "/b: is required when a is there", `{"c":1}`: "/d: is required", `{"c":1,"d":1}`: "",
	})
	checkAnswers(t, `{"required":["a","b"],"properties":{"a":false}}`, answers{`{"b":1}`: "/a: is required", `{"a":1,"b":1}`: "/a: is not allowed"})
	checkAnswers(t, `{"properties":{"a":{"properties":{"b":{"items":{"type":"null"}}}}}}`, answers{`{"a":{"b":[null,[]]}}`: "/a/b/1: want null, but got array"})
}

func TestValidate_requiresManyMembers(t *testing.T) {
	var names, members []string
	for i := range 100 {
		names = append(names, fmt.Sprintf(`"k%d"`, i))
		members = append(members, fmt.Sprintf(`"k%d":1`, i))
	}
	raw := `{"required":[` + strings.Join(names, ",") + `]}`
	checkAnswers(t, raw, answers{
		`{` + strings.Join(members, ",") + `}`:      "",
		`{` + strings.Join(members[:99], ",") + `}`: "/k99: is required",
	})
}

func TestValidate_arrays(t *testing.T) {
	checkAnswers(t, `{"minItems":1,"maxItems":3,"uniqueItems":true,"prefixItems":[{"type":"string"}],"items":{"type":["number","object"]}}`, answers{
		`["a",1,2]`: "", `[]`: "want at least 1 item, but got 0",
		`["a",1,2,3]`:                  "want at most 3 items, but got 4",
		`[1]`:                          "/0: want string, but got number",
		`["a",1,"b"]`:                  "/2: want number or object, but got string",
		`["a",1,1.0]`:                  "want items that differ, but items 1 and 2 are equal",
		`["a",{"x":1},{"\u0078":1e0}]`: "want items that differ, but items 1 and 2 are equal",
		`["a",1,10]`:                   "",
	})
	checkAnswers(t, `{"contains":{"type":"string"},"minContains":2,"maxContains":3}`, answers{
		`["a",1,"b"]`: "", `["a"]`: "want at least 2 items of the kind that it must contain, but got 1",
		`["a","b","c","d"]`: "want at most 3 items of the kind that it may contain, but got 4",
	})
	checkAnswers(t, `{"$schema":"http://json-schema.org/draft-07/schema","items":[{"type":"string"}],"additionalItems":false}`, answers{
		`["a"]`: "", `["a",1]`: "/1: is not allowed",
	})
}

func TestValidate_combinedSchemas(t *testing.T) {
	checkAnswers(t, `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, answers{
		`{"a":null}`: "", `{"a":1}`: "/a: want null or string, but got number",
	})
	checkAnswers(t, `{"anyOf":[{"type":"object","properties":{"u":{"format":"uri","type":"string"}},"required":["u"]},{"type":"string","minLength":3}]}`, answers{
		`"abc"`: "", `"a"`: "want at least 3 characters, but got 1", `{"u":1}`: "/u: want string, but got number",
		`{}`: "/u: is required", `7`: "want string or object, but got number",
	})
	checkAnswers(t, `{"oneOf":[{"properties":{"k":{"const":"a"},"v":{"type":"number"}}},{"properties":{"k":{"const":"b"},"v":{"type":"string","maxLength":1}}}]}`, answers{
		`{"k":"a","v":1}`: "", `{"k":"b","v":"x"}`: "", `{}`: "fits more than one of the 2 forms, of which it must fit one",
		`{"k":"b","v":"xyz"}`: "/v: want at most 1 character, but got 3",
		`{"k":"c","v":1}`:     "fits none of the 2 forms that are allowed",
	})
	checkAnswers(t, `{"oneOf":[{"type":"string"}]}`, answers{`1`: "want string, but got number"})
	checkAnswers(t, `{"not":{"required":["a"]}}`, answers{`{}`: "", `{"a":1}`: "has a form that is excluded"})
	checkAnswers(t, `{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, answers{
		`{"a":1,"b":1}`: "", `{"a":1}`: "/b: is required", `{}`: "/c: is required", `{"c":1}`: "",
	})
	checkAnswers(t, `{"allOf":[{"properties":{"a":true}},{"anyOf":[{"properties":{"b":{"type":"string"}},"required":["b"]},{"properties":{"c":true}}]}],"unevaluatedProperties":false}`, answers{
		`{"a":1,"b":"x"}`: "", `{"a":1,"c":1}`: "", `{"a":1,"d":1}`: "/d: is not a known property",
		`{"a":1,"b":1}`: "/b: is not a known property",
	})
	checkAnswers(t, `{"if":{"$ref":"#"},"type":"object"}`, answers{`{}`: "", `1`: "want object, but got number"}) // an if alone has no effect
	checkAnswers(t, `{"prefixItems":[true],"contains":{"type":"string"},"unevaluatedItems":false}`, answers{
		`[1,"x","y"]`: "", `[1,"x",2]`: "/2: is not allowed",
	})
}

func TestValidate_references(t *testing.T) {
	checkAnswers(t, `{"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"v":{"$ref":"#int"}}},"i":{"$anchor":"int","type":"integer"}},"$ref":"#/$defs/node"}`, answers{
		`{"next":{"next":{"v":1}}}`: "", `{"next":{"next":{"v":"x"}}}`: "/next/next/v: want integer, but got string",
	})
	checkAnswers(t, `{"$id":"https://example.com/a","$defs":{"b":{"$id":"b","type":"string"}},"items":{"$ref":"https://example.com/b"}}`, answers{
		`["x"]`: "", `[1]`: "/0: want string, but got number",
	})
	checkAnswers(t, `{"properties":{"schema":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, answers{
		`{"schema":{"type":"object","properties":{"a":{"minLength":1}}}}`:          "",
		`{"schema":{"properties":{"a":{"minLength":-1}}}}`:                         "/schema/properties/a/minLength: want at least 0, but got -1",
		`{"schema":{"allOf":[{"not":{"type":"nothing"}}]}}`:                        `/schema/allOf/0/not/type: want one of "array", "boolean", "integer", "null", "number", "object" or "string", but got "nothing"`,
		`{"schema":{"$defs":{"a":{"$anchor":"no anchor","patternProperties":7}}}}`: "/schema/$defs/a/$anchor: want text that matches ^[A-Za-z_][-A-Za-z0-9._]*$, but got \"no anchor\"",
	})
	checkAnswers(t, `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","type":"string","definitions":{"a":{"type":"number"}}}`, answers{
		`1`: "", `"x"`: "want number, but got string",
	})
	checkAnswers(t, `{"$id":"https://example.com/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,"$defs":{"tree":{"$id":"tree","$dynamicAnchor":"node","properties":{"data":true,"children":{"items":{"$dynamicRef":"#node"}}}}}}`, answers{
		`{"children":[{"data":1}]}`: "", `{"children":[{"daat":1}]}`: "/children/0/daat: is not a known property",
	})
	checkAnswers(t, `{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://example.com/t","$recursiveAnchor":true,"type":["object","string"],"additionalProperties":{"$recursiveRef":"#"}}`, answers{
		`{"a":{"b":"x"}}`: "", `{"a":{"b":1}}`: "/a/b: want string or object, but got number",
	})
}

func TestCompile_refusesInvalidSchemas(t *testing.T) {
	for raw, want := range map[string]string{
		``:    "schema: json: unexpected end at offset 0",
		`{`:   "schema: json: unexpected end at offset 1",
		`[]`:  "schema: a schema must be an object or a boolean",
		`"x"`: "schema: a schema must be an object or a boolean",
		`{"$schema":"https://example.com/dialect"}`:                         `schema: unknown dialect "https://example.com/dialect"`,
		`{"$schema":"file:///etc/passwd"}`:                                  `schema: unknown dialect "file:///etc/passwd"`,
		`{"$schema":"http://json-schema.org/draft-03/schema#"}`:             `schema: unknown dialect "http://json-schema.org/draft-03/schema#"`,
		`{"$defs":{"a":{"$id":"a","$schema":"urn:x"}}}`:                     `schema: /$defs/a: unknown dialect "urn:x"`,
		`{"properties":{"a":{"$ref":"http://example.com/x.json"}}}`:         `schema: /properties/a/$ref: external reference "http://example.com/x.json" is not loaded`,
		`{"items":{"$ref":"file:///etc/passwd"}}`:                           `schema: /items/$ref: external reference "file:///etc/passwd" is not loaded`,
		`{"allOf":[{"$ref":"other.json#/a"}]}`:                              `schema: /allOf/0/$ref: external reference "other.json#/a" is not loaded`,
		`{"$id":"http://example.com/a","$dynamicRef":"b#c"}`:                `schema: /$dynamicRef: external reference "b#c" is not loaded`,
		`{"$ref":"https://json-schema.org/draft/2020-12/meta/nothing"}`:     `schema: external reference "https://json-schema.org/draft/2020-12/meta/nothing" is not loaded`,
		`{"$ref":"#/nowhere"}`:                                              `schema: json-pointer in "#/nowhere" not found`,
		`{"$ref":"#nowhere"}`:                                               `schema: anchor in "#nowhere" not found in schema ""`,
		`{"$ref":"http://[::1"}`:                                            `schema: /$ref: "http://[::1" is no reference`,
		`{"type":"strin"}`:                                                  `schema: /type: is no valid schema: want one of "array", "boolean", "integer", "null", "number", "object" or "string", but got "strin"`,
		`{"properties":{"a":{"minLength":"1"}}}`:                            `schema: /properties/a/minLength: is no valid schema: want integer, but got string`,
		`{"properties":[]}`:                                                 `schema: /properties: is no valid schema: want object, but got array`,
		`{"minimum":1e1001}`:                                                `schema: /minimum: a number with more than 1000 digits`,
		`{"multipleOf":1e-99999999999}`:                                     `schema: /multipleOf: a number with more than 1000 digits`,
		`{"enum":[` + strings.Repeat(`[],`, 1001) + `1]}`:                   `schema: /enum: more than 1000 arrays and objects in one array`,
		`{"description":"` + strings.Repeat("x", 256<<10) + `"}`:            `schema: 262162 bytes, but at most 262144 are allowed`,
		strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 70):      `schema: ` + strings.Repeat("/not", 64) + `: subschemas nested deeper than 64`,
		`{"allOf":[` + strings.Repeat(`{},`, 10_000) + `{}]}`:               `schema: /allOf/9999: more than 10000 subschemas`,
		`{"x":` + strings.Repeat(`[`, 600) + strings.Repeat(`]`, 600) + `}`: `schema: json: nesting deeper than 512 at offset 516`,
	} {
		_, err := jsonschema.Compile(json.RawMessage(raw), nil)
		if err == nil || err.Error() != want {
			t.Errorf("Compile(%.80s)\n got %v\nwant %s", raw, err, want)
		}
	}
}

func TestErrors_haveTypes(t *testing.T) {
	_, err := jsonschema.Compile(json.RawMessage(`{"properties":{"a":{"type":7}}}`), nil)
	var schemaError *jsonschema.SchemaError
	if !errors.As(err, &schemaError) || schemaError.Pointer != "/properties/a/type" {
		t.Errorf("got %#v, want a SchemaError at /properties/a/type", err)
	}
	if err := jsonschema.Check(json.RawMessage(`{"properties":{"a":{"$ref":"http://b"}}}`)); !errors.As(err, &schemaError) || schemaError.Pointer != "/properties/a/$ref" {
		t.Errorf("got %#v, want a SchemaError at /properties/a/$ref", err)
	}
	var syntax *jsonraw.SyntaxError
	if err := jsonschema.Check(json.RawMessage(`{`)); !errors.As(err, &syntax) {
		t.Errorf("got %#v, want a SyntaxError", err)
	}
	err = mustCompile(t, smallSchema).Validate(json.RawMessage(`{"zone":7}`))
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) || invalid.Pointer != "/zone" || invalid.Message != "want string, but got number" || invalid.Also != nil {
		t.Errorf("got %#v, want a ValidationError at /zone of a string", err)
	}
}

func TestValidate_cutsLongValuesInMessages(t *testing.T) {
	err := mustCompile(t, `{"const":1}`).Validate(json.RawMessage(`"` + strings.Repeat("é\n"[:2], 100) + `"`))
	if want := `want 1, but got "` + strings.Repeat("é", 31) + "…"; err == nil || err.Error() != want {
		t.Errorf("got %v, want an error", err)
	}
}

// All violations of an object are reported at once, up to a limit, so that a caller need not retry for each.
func TestValidate_reportsAllViolationsOfAnObject(t *testing.T) {
	s, err := jsonschema.Compile(json.RawMessage(`{"type":"object","additionalProperties":false,"required":["zone","count"],"properties":{
		"zone":{"type":"string"},"count":{"type":"integer","minimum":1},"place":{"type":"object","required":["city"],"properties":{"lat":{"type":"number"}}},
		"either":{"anyOf":[{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}},{"type":"null"}]}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"zone":1,"count":0,"x":1}`: `/zone: want string, but got number; /count: want at least 1, but got 0; /x: is not a known property`,
		`{"a":1}`:                    `/a: is not a known property; /zone: is required; /count: is required`,
		`{"zone":"","count":1,"place":{"lat":"x"}}`:    `/place/lat: want number, but got string; /place/city: is required`,
		`{"place":{"lat":"x"}}`:                        `/place/lat: want number, but got string; /place/city: is required; /zone: is required; /count: is required`,
		`{"zone":"","count":2,"either":{"a":1,"b":2}}`: `/either/a: want string, but got number`,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}`: `/a: is not a known property; /b: is not a known property; /c: is not a known property; /d: is not a known property; ` +
			`/e: is not a known property; /f: is not a known property; /g: is not a known property; /h: is not a known property`,
	} {
		for range 2 { // the evaluator is reused
			if err := s.Validate(json.RawMessage(value)); err == nil || err.Error() != want {
				t.Errorf("%s:\n%v, want\n%s", value, err, want)
			}
		}
	}
	if err := s.Validate(json.RawMessage(`{"zone":"","count":1}`)); err != nil {
		t.Error(err)
	}
}
