package schema

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Field is an exported struct field as encoding/json sees it.
type Field struct {
	reflect.StructField
	Name     string // in JSON
	Required bool
}

// Fields lists the fields of a struct, those of embedded structs in their place; none for other types.
func Fields(t reflect.Type) []Field {
	t = Deref(t)
	if t.Kind() != reflect.Struct {
		return nil
	}
	var all []Field
	for i := range t.NumField() {
		f := t.Field(i)
		name, flags, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && Deref(f.Type).Kind() == reflect.Struct {
			all = append(all, Fields(f.Type)...)
			continue
		}
		if !f.IsExported() || name == "-" && flags == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		all = append(all, Field{f, name, isRequired(f, flags)})
	}
	return all
}

func isRequired(f reflect.StructField, flags string) bool {
	if _, ok := f.Tag.Lookup("default"); ok || f.Type.Kind() == reflect.Pointer {
		return false
	}
	return !strings.Contains(flags, "omitempty") && !strings.Contains(flags, "omitzero")
}

// Deref is the type that a pointer, or a pointer to one, points to.
func Deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// Defaults is the JSON object of a struct's default tags; nil if it has none.
func Defaults(t reflect.Type) json.RawMessage {
	var o jsontext.Object
	for _, f := range Fields(t) {
		if tag, ok := f.Tag.Lookup("default"); ok {
			o.Raw(f.Name, f.literal("default", tag, f.Type))
		}
	}
	if o.Empty() {
		return nil
	}
	return o.Bytes()
}

// literal is the JSON of a value written in a tag: a string as it stands, all else as JSON.
func (f Field) literal(tag, value string, t reflect.Type) []byte {
	t = Deref(t)
	raw := []byte(value)
	if t.Kind() == reflect.String || t.Kind() == reflect.Struct && !json.Valid(raw) {
		raw = jsontext.Quote(value)
	}
	if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
		f.wrong(tag, "cannot hold "+value)
	}
	return raw
}

// wrong stops a plugin whose author wrote a tag that says nothing.
func (f Field) wrong(tag, problem string) {
	panic("sallyport: field " + f.StructField.Name + ": tag " + tag + ": " + problem)
}

// described is the type whose schema the field's tags add to. An unsigned number with a minimum of its
// own is described as a signed one, which brings none.
func (f Field) described() reflect.Type {
	t := Deref(f.Type)
	_, tagged := f.Tag.Lookup("minimum")
	if k := t.Kind(); tagged && k >= reflect.Uint && k <= reflect.Uint64 {
		return reflect.TypeFor[int64]()
	}
	return t
}
