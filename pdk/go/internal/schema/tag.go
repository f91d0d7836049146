package schema

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Tags that become schema keywords, by their syntax.
var (
	textTags   = []string{"title", "pattern", "format"}
	numberTags = []string{
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "minItems", "maxItems",
	}
)

// Description returns the description of a field: its doc tag or else its jsonschema tag, which the official Go SDK uses
// for the same. As there, a text that begins with a word and an equals sign is an error.
func (f Field) Description() string {
	if doc, ok := f.Tag.Lookup("doc"); ok {
		return doc
	}
	text := f.Tag.Get("jsonschema")
	if word, _, assigns := strings.Cut(text, "="); assigns && !strings.ContainsAny(word, " \t\n") {
		f.wrong("jsonschema", "begins with "+word+"=, but it is a description: keywords have tags of their own, such as enum or minimum")
	}
	return text
}

// keywords adds the keywords of a field's tags.
func (f Field) keywords(s *jsontext.Object) {
	s.Optional("description", f.Description())
	for _, tag := range textTags {
		s.Optional(tag, f.Tag.Get(tag))
	}
	for _, tag := range numberTags {
		if v, ok := f.Tag.Lookup(tag); ok {
			s.Raw(tag, f.number(tag, v))
		}
	}
	if v, ok := f.Tag.Lookup("uniqueItems"); ok && v != "false" {
		s.Raw("uniqueItems", []byte("true"))
	}
	if v, ok := f.Tag.Lookup("enum"); ok {
		s.Raw("enum", f.enum(v))
	}
	if v, ok := f.Tag.Lookup("default"); ok {
		s.Raw("default", f.literal("default", v, f.Type))
	}
	s.Optional("x-mcp-header", f.Tag.Get("header"))
}

func (f Field) number(tag, value string) []byte {
	var n json.Number
	if json.Unmarshal([]byte(value), &n) != nil || strings.HasPrefix(value, `"`) {
		f.wrong(tag, value+" is not a number")
	}
	return []byte(value)
}

func (f Field) enum(value string) []byte {
	if k := Deref(f.Type).Kind(); k == reflect.Slice || k == reflect.Map || k == reflect.Struct {
		f.wrong("enum", "only for strings, numbers and booleans; make a type of it that is a Schemer")
	}
	var values [][]byte
	for _, v := range strings.Split(value, ",") {
		values = append(values, f.literal("enum", strings.TrimSpace(v), f.Type))
	}
	return jsontext.Array(values)
}
