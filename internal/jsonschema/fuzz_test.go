package jsonschema_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/dlclark/regexp2/v2"
	reference "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
)

// No schema and value panics, and the result equals that of the library's evaluator where it is reliable.
func FuzzValidate(f *testing.F) {
	for _, seed := range [][2]string{
		{smallSchema, `{"zone":"UTC","n":1.0}`},
		{`{"items":{"type":["integer","null"],"multipleOf":0.5,"minimum":-1e3},"uniqueItems":true}`, `[1,2.5,null,1e0]`},
		{`{"oneOf":[{"const":{"a":[1]}},{"enum":["x",2.0]}],"not":{"type":"boolean"}}`, `{"a":[1.0]}`},
		{`{"patternProperties":{"^a":{"pattern":"b$"}},"additionalProperties":{"maxLength":2},"propertyNames":{"minLength":1}}`, `{"ab":"ab","c":"é😀"}`},
		{`{"anyOf":[{"properties":{"a":true}},{"properties":{"b":true},"required":["b"]}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`},
		{`{"prefixItems":[{"type":"string"}],"contains":{"type":"number"},"minContains":2,"unevaluatedItems":{"type":"null"}}`, `["a",1,2,null]`},
		{`{"if":{"required":["a"]},"then":{"maxProperties":1},"else":{"minProperties":2},"dependentRequired":{"b":["c"]},"dependentSchemas":{"c":false}}`, `{"b":1,"c":2}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"exclusiveMaximum":5}],"additionalItems":false,"dependencies":{"a":["b"],"c":{"minProperties":2}}}`, `[4]`},
		{`{"$schema":"http://json-schema.org/draft-04/schema","minimum":3,"exclusiveMinimum":true,"id":"x"}`, `3.0`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"additionalProperties":{"$recursiveRef":"#"}}`, `{"a":{}}`},
		{`{"$defs":{"a":{"$anchor":"x","$ref":"#/$defs/b"},"b":{"$id":"b","$dynamicAnchor":"y"}},"$dynamicRef":"b#y","items":{"$ref":"#x"}}`, `[[]]`},
		{`{"type":["array","object"],"minItems":1,"maxItems":2}`, `[]`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, rawSchema, rawValue []byte) {
		if err := jsonschema.Check(rawSchema); err != nil {
			if _, err := jsonschema.Compile(rawSchema, nil); err == nil {
				t.Fatalf("Compile of %q: got no error, want one as of Check", rawSchema)
			}
			return
		}
		warned := false
		s, err := jsonschema.Compile(rawSchema, &jsonschema.Options{Warn: func(string) { warned = true }})
		if err != nil {
			return
		}
		got := s.Validate(rawValue)
		if got != nil && strings.ContainsAny(got.Error(), "\n\r") {
			t.Fatalf("got %q, want one line", got)
		}
		if want, ok := oracle(rawSchema, rawValue); ok && !warned && (got == nil) != (want == nil) {
			t.Fatalf("schema %q\nvalue %q\nwe say %v\nthe library says %v", rawSchema, rawValue, got, want)
		}
	})
}

// beyondOracle matches schemas for which the library's result differs or is unavailable: references (no budget),
// format (asserted in older drafts), and numbers it cannot represent.
var beyondOracle = regexp.MustCompile(`[rR]ef"|ormat"|\\u|[0-9]{9}|[eE][-+]?[0-9]{3}`)

// oracle returns the library's result; ok is false if it is not reliable.
func oracle(rawSchema, rawValue []byte) (answer error, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	if beyondOracle.Match(rawSchema) || beyondOracle.Match(rawValue) || len(rawSchema) > 1000 ||
		jsonraw.Valid(rawValue) != nil || duplicates(rawSchema) || duplicates(rawValue) {
		return nil, false
	}
	doc, err := reference.UnmarshalJSON(bytes.NewReader(rawSchema))
	value, valueErr := reference.UnmarshalJSON(bytes.NewReader(rawValue))
	c := reference.NewCompiler()
	c.UseRegexpEngine(ecma)
	if err != nil || valueErr != nil || c.AddResource("schema:///", doc) != nil {
		return nil, false
	}
	s, err := c.Compile("schema:///")
	if err != nil {
		return nil, false
	}
	return s.Validate(value), true
}

func duplicates(raw []byte) bool {
	_, found := jsonraw.DuplicateKey(raw)
	return found
}

// ecmaRegexp adapts a regular expression for the oracle.
type ecmaRegexp struct{ *regexp2.Regexp }

func (r ecmaRegexp) MatchString(s string) bool {
	ok, err := r.Regexp.MatchString(s)
	return ok && err == nil
}

func ecma(source string) (reference.Regexp, error) {
	if len(source) > 20 {
		return nil, errors.New("too long")
	}
	re, err := regexp2.Compile(source, regexp2.ECMAScript, regexp2.Unicode)
	return ecmaRegexp{re}, err
}
