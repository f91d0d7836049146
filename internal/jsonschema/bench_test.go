package jsonschema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
)

const smallSchema = `{"type":"object","properties":{"zone":{"type":"string","minLength":1},"n":{"type":"integer","minimum":0}},` +
	`"required":["zone"],"additionalProperties":false}`

func mustCompile(tb testing.TB, raw string) *jsonschema.Schema {
	tb.Helper()
	s, err := jsonschema.Compile(json.RawMessage(raw), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func benchmarkValidate(b *testing.B, schema, value string) {
	s, raw := mustCompile(b, schema), json.RawMessage(value)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Validate(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidateSmall(b *testing.B) {
	benchmarkValidate(b, smallSchema, `{"zone":"Europe/Berlin","n":3}`)
}

func BenchmarkValidateTypeOnly(b *testing.B) {
	benchmarkValidate(b, `{"type":"object"}`, `{"zone":"Europe/Berlin","n":3}`)
}

func BenchmarkValidatePattern(b *testing.B) {
	benchmarkValidate(b, `{"properties":{"a":{"pattern":"^[a-z0-9-]+$"}}}`, `{"a":"a-name-of-24-characters"}`)
}

func BenchmarkValidateManyItems(b *testing.B) {
	benchmarkValidate(b, `{"items":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":["string","null"]}}}}`,
		"["+strings.Repeat(`{"a":1.5,"b":"x"},`, 9999)+`{"a":1,"b":null}]`)
}

func BenchmarkCompileSmall(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonschema.Compile(json.RawMessage(smallSchema), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckSmall(b *testing.B) {
	for b.Loop() {
		if err := jsonschema.Check(json.RawMessage(smallSchema)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompileLargest(b *testing.B) {
	var p strings.Builder
	for i := range 9900 {
		fmt.Fprintf(&p, `"p%d":{"minLength":1},`, i)
	}
	raw := json.RawMessage(`{"properties":{` + p.String() + `"z":{}}}`)
	for b.Loop() {
		if _, err := jsonschema.Compile(raw, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidateLongText(b *testing.B) {
	benchmarkValidate(b, `{"properties":{"text":{"type":"string"}}}`, `{"text":"`+strings.Repeat("the quick brown fox, jumps", 3846)+`"}`)
}
