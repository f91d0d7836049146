package jsonschema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
)

// doubling returns a schema of n definitions, each of which uses the next one twice.
func doubling(n int, use string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":%s,`, i, strings.ReplaceAll(use, "@", fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)))
	}
	fmt.Fprintf(&b, `"d%d":{"type":["string","object","array"]}}}`, n)
	return b.String()
}

func TestValidate_endsExponentialSchemas(t *testing.T) {
	const tooMuch = "takes too many steps to check against the schema"
	for name, c := range map[string]struct{ schema, value, want string }{
		"allOf":       {doubling(60, `{"allOf":[@,@]}`), `"x"`, tooMuch},
		"anyOf":       {doubling(60, `{"anyOf":[@,@]}`), `1`, tooMuch},
		"oneOf":       {doubling(60, `{"oneOf":[@,@]}`), `1`, tooMuch},
		"not":         {doubling(60, `{"not":{"anyOf":[{"not":@},{"not":@}]}}`), `"x"`, tooMuch},
		"if":          {doubling(60, `{"if":@,"then":@,"else":@}`), `1`, tooMuch},
		"unevaluated": {doubling(60, `{"anyOf":[@,@],"unevaluatedProperties":true}`), `{"a":1}`, tooMuch},
		"contains":    {doubling(60, `{"allOf":[{"contains":@},{"contains":@}]}`), strings.Repeat("[", 100) + strings.Repeat("]", 100), tooMuch},
		"items":       {doubling(60, `{"prefixItems":[@],"items":@}`), strings.Repeat("[", 100) + strings.Repeat("]", 100), ""},
		// An aborted evaluation must not turn into a success.
		"negated": {strings.Replace(doubling(60, `{"allOf":[@,@]}`), `"$ref":"#/$defs/d0"`, `"not":{"not":{"not":{"$ref":"#/$defs/d0"}}}`, 1), `"x"`, tooMuch},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			err := s.Validate(json.RawMessage(c.value))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// nestedObject returns n nested objects under the key "a".
func nestedObject(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }

func TestValidate_endsEndlessReferences(t *testing.T) {
	const endless = "nests too deep, or the schema refers to itself without end"
	for _, raw := range []string{
		`{"$ref":"#"}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		`{"allOf":[{"not":{"$ref":"#"}}]}`,
		`{"if":{"$ref":"#"},"then":true}`,
		`{"if":{"$ref":"#"},"unevaluatedProperties":false}`,
		`{"$dynamicAnchor":"x","anyOf":[{"$dynamicRef":"#x"}]}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"oneOf":[{"$recursiveRef":"#"}]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#"}`,
	} {
		if err := mustCompile(t, raw).Validate(json.RawMessage(`{"a":[1]}`)); err == nil || err.Error() != endless {
			t.Errorf("%s: got %v, want an error", raw, err)
		}
	}
}

func TestValidate_followsLongChainsOfReferences(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 4000 {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	b.WriteString(`"d4000":{"type":["object","number"],"properties":{"a":{"$ref":"#"}}}}}`)
	s := mustCompile(t, b.String())
	if err := s.Validate(json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
	if err := s.Validate(json.RawMessage(nestedObject(500))); err == nil || !strings.Contains(err.Error(), "nests too deep") {
		t.Errorf("got %v, want \"nests too deep\" in it", err)
	}
}

func TestCompile_refusesHostileSchemas(t *testing.T) {
	repeat := func(n int, f string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strings.ReplaceAll(f, "@", fmt.Sprint(i)))
		}
		return b.String()
	}
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema"`
	for name, c := range map[string]struct{ schema, want string }{
		"many subschemas": {`{"allOf":[` + repeat(4_999, `{"not":{}}`) + `]}`, ""},
		"wide":            {`{"properties":{` + repeat(6_000, `"p@":{"minLength":1}`) + `}}`, ""},
		"many ids":        {`{"allOf":[` + repeat(255, `{"$id":"i@","$anchor":"a"}`) + `,` + repeat(5_000, `{"$ref":"#/allOf/1"}`) + `]}`, ""},
		"too many ids":    {`{"allOf":[` + repeat(5_000, `{"$id":"i@"}`) + `]}`, "schema: /allOf/256: more than 256 schemas with an $id"},
		"anchors":         {`{"allOf":[` + repeat(5_000, `{"$dynamicAnchor":"a@"}`) + `]}`, ""},
		"dynamic":         {`{"allOf":[` + repeat(3_000, `{"$dynamicAnchor":"a@","$dynamicRef":"#a@"}`) + `]}`, ""},
		"odd places":      {`{"x":{` + repeat(4_000, `"@":{"a":1}`) + `},"allOf":[` + repeat(4_000, `{"$ref":"#/x/@"}`) + `]}`, ""},
		"huge enum":       {`{"enum":[` + repeat(20_000, `"v@"`) + `]}`, ""},
		"number enum":     {`{` + draft7 + `,"enum":[` + repeat(1_000, `1e@,1.5e-@`) + `]}`, ""},
		"colliding enum":  {`{` + draft7 + `,"enum":[` + repeat(499, `["a","b@"],["ab","@"]`) + `]}`, ""},
		"required":        {`{"required":[` + repeat(20_000, `"r@"`) + `]}`, ""},
		"patterns":        {`{"allOf":[` + repeat(5_000, `{"pattern":"^(a@|b)+$"}`) + `]}`, ""},
		"huge counts":     {`{"allOf":[` + repeat(100, `{"pattern":"^(((a{1000}){1000}){1000}){@,1000000000}$"}`) + `]}`, ""},
		"deep group":      {`{"pattern":"` + strings.Repeat(`(`, 4_000) + `a` + strings.Repeat(`)*`, 2_000) + strings.Repeat(`)`, 2_000) + `"}`, ""},
		"deep not":        {strings.Repeat(`{"not":`, 63) + `{}` + strings.Repeat(`}`, 63), ""},
		"deep unknown":    {strings.Repeat(`{"x":`, 500) + `{}` + strings.Repeat(`}`, 500), ""},
		"deep enum":       {`{"enum":[` + strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500) + `]}`, ""},
		"deep items":      {`{"items":` + strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500) + `}`, "schema: /items: is no valid schema: want boolean or object, but got array"},
		"empty keys":      {`{"":{"":{"$ref":"#//"}},"$ref":"#//"}`, ""},
		"odd pointers":    {`{"$defs":{"a~b/c%d e\u0000":{}},"$ref":"#/$defs/a~0b~1c%25d%20e%00"}`, ""},
		"id is a ref":     {`{"$id":"#","$ref":"#"}`, ""},
		"id is meta":      {`{"$id":"https://json-schema.org/draft/2020-12/schema","$ref":"#"}`, ""},
		"same ids":        {`{"allOf":[{"$id":"a"},{"$id":"a"}]}`, "schema: duplicate id"},
		"same anchors":    {`{"allOf":[{"$anchor":"a"},{"$anchor":"a"}]}`, "schema: duplicate anchor"},
		"bad id":          {`{"$id":"http://[::1"}`, "schema: error in parsing id"},
		"vocabulary":      {`{"$vocabulary":{"urn:x":true},"$schema":"https://json-schema.org/draft/2020-12/schema"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := jsonschema.Compile(json.RawMessage(c.schema), nil)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Fatalf("got %.300v, want %q", err, c.want)
			}
			if s != nil {
				_ = s.Validate(json.RawMessage(`{"a":[1,"x",{"b":"aaaaaaaaaaaaaaaaa"}]}`))
				_ = s.Validate(json.RawMessage(`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"`))
			}
		})
	}
}

func TestValidate_endsHostileValues(t *testing.T) {
	million := "[" + strings.Repeat("1,", 999_999) + "1]"
	for _, c := range []struct{ schema, value, want string }{
		{`{"items":{"type":"number"}}`, million, ""},
		{`{"items":{"type":"number"}}`, "[" + million + "," + million + "]", "has too many values"},
		{`{"uniqueItems":true}`, million, "want items that differ, but items 0 and 1 are equal"},
		{`{"items":{"type":"integer","multipleOf":7}}`, "[" + strings.Repeat("7e999999999,", 1_000) + "7]", ""},
		{`{"type":"integer"}`, strings.Repeat("9", 1<<20), ""},
		{`{"maximum":5}`, strings.Repeat("9", 1<<20), "want at most 5, but got " + strings.Repeat("9", 64) + "…"},
		{`{"maxLength":9}`, `"` + strings.Repeat(`\u00e9`, 1<<20) + `"`, "want at most 9 characters, but got 1048576"},
		{`{"pattern":"^a*$"}`, `"` + strings.Repeat("a", 5<<20) + `"`, "is too long to be matched with ^a*$"},
		{`{"items":{"$ref":"#"}}`, strings.Repeat("[", 512) + strings.Repeat("]", 512), ""},
		{`{"required":["x"]}`, nestedObject(600), "is not valid: json: nesting deeper than 512 at offset 2560"},
	} {
		got := ""
		if err := mustCompile(t, c.schema).Validate(json.RawMessage(c.value)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s on %.30s: got %.200q, want %q", c.schema, c.value, got, c.want)
		}
	}
}

func TestValidate_endsManyFormsOfALongText(t *testing.T) {
	forms := strings.Repeat(`{"const":"a"},`, 9000) + `{"const":"b"}`
	err := mustCompile(t, `{"anyOf":[`+forms+`]}`).Validate(json.RawMessage(`"` + strings.Repeat("x", 8<<20) + `"`))
	if err == nil || !strings.HasPrefix(err.Error(), "takes too many steps") {
		t.Errorf("got %v, want \"takes too many steps\" at its begin", err)
	}
}

// Work proportional to the value is counted even where no member is visited, so that a schema that repeats it is
// aborted.
func TestValidate_countsWorkWithoutMembers(t *testing.T) {
	const tooMuch = "takes too many steps to check against the schema"
	list := "[" + strings.Repeat("1,", 200_000) + "1]"
	key := strings.Repeat("k", 1<<20)
	escaped := strings.Repeat(`\u006b`, 1<<18)
	for name, c := range map[string]struct{ schema, value string }{
		"left items":      {doubling(60, `{"allOf":[@,@],"items":true,"unevaluatedItems":false}`), list},
		"marks":           {doubling(60, `{"anyOf":[@,@],"unevaluatedItems":true}`), list},
		"marks of fields": {doubling(60, `{"anyOf":[@,@],"unevaluatedProperties":true}`), `{"` + key + `":1}`},
		"long keys":       {doubling(60, `{"properties":{"a":{}},"allOf":[@,@]}`), `{"` + key + `":1}`},
		"escaped keys":    {doubling(60, `{"dependentRequired":{"`+strings.Repeat("k", 1<<10)+`":["a"]},"allOf":[@,@]}`), `{"` + escaped + `":1}`},
		"constants":       {doubling(60, `{"not":{"const":{"a":1}},"allOf":[@,@]}`), `{"a":` + list + `}`},
		"unique":          {doubling(60, `{"uniqueItems":true,"allOf":[@,@]}`), "[" + list + "," + strings.Replace(list, "1", "2", 1) + "]"},
		"reasons":         {strings.Replace(doubling(60, `{"anyOf":[@,@]}`), `"$ref":"#/$defs/d0"`, `"additionalProperties":{"$ref":"#/$defs/d0"}`, 1), `{"` + key + `":1}`},
		"names":           {doubling(60, `{"propertyNames":{"maxLength":`+fmt.Sprint(2<<20)+`},"allOf":[@,@]}`), `{"` + key + `":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := mustCompile(t, c.schema).Validate(json.RawMessage(c.value)); err == nil || err.Error() != tooMuch {
				t.Errorf("got %.200v, want an error", err)
			}
		})
	}
}

func TestPattern_endsAtTheStepLimit(t *testing.T) {
	bad := `"` + strings.Repeat("a", 40) + `!"`
	for _, c := range []struct{ schema, value, want string }{
		{`{"properties":{"a":{"pattern":"^(a+)+$"}}}`, `{"a":` + bad + `}`, "/a: takes too many steps to match with ^(a+)+$"},
		{`{"properties":{"a":{"not":{"pattern":"^(a+)+$"}}}}`, `{"a":` + bad + `}`, "/a: takes too many steps to match with ^(a+)+$"},
		{`{"patternProperties":{"^(a+)+$":true}}`, `{` + bad + `:1}`, "takes too many steps to match with ^(a+)+$"},
		{`{"items":{"anyOf":[{"pattern":"^(a+)+$"},true]}}`, `["x",` + bad + `]`, "/1: takes too many steps to match with ^(a+)+$"},
	} {
		if err := mustCompile(t, c.schema).Validate(json.RawMessage(c.value)); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.schema, err, c.want)
		}
	}
}

// Each match takes some thousand steps, which together exceed the budget.
func TestPattern_sharesTheBudgetOfManyMatches(t *testing.T) {
	s := mustCompile(t, `{"items":{"pattern":"^(a+)+$"}}`)
	value := `["` + strings.Repeat(strings.Repeat("a", 17)+`!","`, 20_000) + `a"]`
	if err := s.Validate(json.RawMessage(value)); err == nil {
		t.Error("Validate: got no error, want one")
	}
	all := mustCompile(t, `{"items":{"not":{"pattern":"^(a+)+$"}}}`)
	if err := all.Validate(json.RawMessage(strings.Replace(value, `,"a"]`, `]`, 1))); err == nil || !strings.Contains(err.Error(), "takes too many steps to match with") {
		t.Errorf("got %v, want \"takes too many steps to match with\" in it", err)
	}
}

func TestPattern_warnsWhenItCannotBeEnforced(t *testing.T) {
	for _, c := range []struct{ pattern, value string }{
		{`(`, `"anything"`},
		{`^\w+\z`, `"x"`},
		{`^\pL+$`, `"x"`},
		{`^[[:alpha:]]+$`, `"x"`},
		{`\Aabc\Z`, `"xyz"`},
		{`^(?P<a>x)$`, `"xyz"`},
		{`[[:alpha:]]{2,1}`, `"1"`},
		{strings.Repeat("a", 9000), `"b"`},
		{strings.Repeat("(", 4000) + strings.Repeat(")", 4001), `"b"`},
	} {
		var warnings []string
		quoted, _ := json.Marshal(c.pattern)
		raw := fmt.Sprintf(`{"$schema":"http://json-schema.org/draft-07/schema","type":"string","pattern":%s,"items":{"pattern":%s}}`, quoted, quoted)
		s, err := jsonschema.Compile(json.RawMessage(raw), &jsonschema.Options{Warn: func(msg string) { warnings = append(warnings, msg) }})
		if err != nil {
			t.Errorf("%.20s: got %v, want no error", c.pattern, err)
			continue
		}
		if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "pattern ") || !strings.Contains(warnings[0], " is not enforced: ") {
			t.Errorf("%.20s: warnings %.200q, want one", c.pattern, warnings)
		}
		if err := s.Validate(json.RawMessage(c.value)); err != nil {
			t.Errorf("%.20s: got %v, want no error", c.pattern, err)
		}
		if err := s.Validate(json.RawMessage(`1`)); err == nil {
			t.Errorf("%.20s: got no error of the type keyword, want one", c.pattern)
		}
	}
}

func TestPattern_notEnforcedClaimsEveryMember(t *testing.T) {
	warned := 0
	s, err := jsonschema.Compile(json.RawMessage(`{"patternProperties":{"\\Ax-":{"type":"string"}},"additionalProperties":false}`),
		&jsonschema.Options{Warn: func(string) { warned++ }})
	if err != nil || warned != 1 {
		t.Fatalf("got %v, %d warnings; want no error, 1", err, warned)
	}
	if err := s.Validate(json.RawMessage(`{"X-A":"s","b":7}`)); err != nil {
		t.Error(err)
	}
}

func TestSchema_validatesConcurrently(t *testing.T) {
	s := mustCompile(t, `{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"},"p":{"pattern":"^x+$"},"u":{"anyOf":[{"minItems":1},{"type":"null"}]}},"unevaluatedProperties":false}`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				if err := s.Validate(json.RawMessage(`{"a":{"a":{"p":"xxx"}},"u":[1]}`)); err != nil {
					t.Errorf("%d: got %v, want no error", i, err)
				}
				if err := s.Validate(json.RawMessage(`{"a":{"a":{"b":1}}}`)); err == nil || err.Error() != "/a/a/b: is not a known property" {
					t.Errorf("%d: got %v, want \"/a/a/b: is not a known property\"", i, err)
				}
			}
		})
	}
	wg.Wait()
}
