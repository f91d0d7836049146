package sallyport

import (
	"encoding/json"
	"reflect"
	"strings"
)

// field is an exported struct field as encoding/json sees it.
type field struct {
	reflect.StructField
	name     string
	required bool
}

// fieldsOf lists the fields of a struct, those of embedded structs in their place; none for other types.
func fieldsOf(t reflect.Type) []field {
	t = deref(t)
	if t.Kind() != reflect.Struct {
		return nil
	}
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, flags, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && deref(f.Type).Kind() == reflect.Struct {
			all = append(all, fieldsOf(f.Type)...)
			continue
		}
		if !f.IsExported() || name == "-" && flags == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		all = append(all, field{f, name, isRequired(f, flags)})
	}
	return all
}

func isRequired(f reflect.StructField, flags string) bool {
	if _, ok := f.Tag.Lookup("default"); ok || f.Type.Kind() == reflect.Pointer {
		return false
	}
	return !strings.Contains(flags, "omitempty") && !strings.Contains(flags, "omitzero")
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// defaultsOf is the JSON object of a struct's default tags; nil if it has none.
func defaultsOf(t reflect.Type) json.RawMessage {
	var o object
	for _, f := range fieldsOf(t) {
		if tag, ok := f.Tag.Lookup("default"); ok {
			o.raw(f.name, f.literal("default", tag, f.Type))
		}
	}
	if len(o.buf) == 0 {
		return nil
	}
	return o.bytes()
}

// literal is the JSON of a value written in a tag: a string as it stands, all else as JSON.
func (f field) literal(tag, value string, t reflect.Type) []byte {
	t = deref(t)
	raw := []byte(value)
	if t.Kind() == reflect.String || t.Kind() == reflect.Struct && !json.Valid(raw) {
		raw = quote(value)
	}
	if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
		f.wrong(tag, "cannot hold "+value)
	}
	return raw
}

// wrong stops a plugin whose author wrote a tag that says nothing.
func (f field) wrong(tag, problem string) {
	panic("sallyport: field " + f.StructField.Name + ": tag " + tag + ": " + problem)
}

// described is the type whose schema the field's tags add to. An unsigned number with a minimum of its
// own is described as a signed one, which brings none.
func (f field) described() reflect.Type {
	t := deref(f.Type)
	_, tagged := f.Tag.Lookup("minimum")
	if k := t.Kind(); tagged && k >= reflect.Uint && k <= reflect.Uint64 {
		return reflect.TypeFor[int64]()
	}
	return t
}
