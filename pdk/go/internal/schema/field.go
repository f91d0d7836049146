package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Field is a struct field as encoding/json treats it.
type Field struct {
	reflect.StructField
	Name     string // name in JSON
	Path     []int  // indexes through embedded structs
	Required bool
	Quoted   bool // its JSON is a string that contains the value: the option ,string
	tagged   bool
}

// Fields returns the fields of a struct, including promoted ones at the place of the embedded struct, or none for
// other types. Names are resolved as in encoding/json: the outermost field wins and, at the same depth, the only one
// with the name in its tag, or none.
func Fields(t reflect.Type) []Field {
	t = Deref(t)
	if t.Kind() != reflect.Struct {
		return nil
	}
	var all []Field
	collect(t, nil, nil, &all)
	byName := map[string][]Field{}
	for _, f := range all {
		byName[f.Name] = append(byName[f.Name], f)
	}
	return slices.DeleteFunc(all, func(f Field) bool { return !f.dominates(byName[f.Name]) })
}

// collect adds the fields of t and of its embedded structs. outer are the enclosing types.
func collect(t reflect.Type, outer []reflect.Type, path []int, all *[]Field) {
	if slices.Contains(outer, t) {
		return
	}
	outer = append(slices.Clip(outer), t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, flags, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := append(slices.Clip(path), i)
		if embedded := Deref(f.Type); f.Anonymous && name == "" && embedded.Kind() == reflect.Struct && !isLeaf(embedded) {
			if f.IsExported() || f.Type.Kind() == reflect.Struct {
				collect(embedded, outer, at, all)
			}
			continue
		}
		if !f.IsExported() || name == "-" && flags == "" {
			continue
		}
		tagged := name != ""
		if !tagged {
			name = f.Name
		}
		*all = append(*all, Field{f, name, at, isRequired(f, flags), isQuoted(f.Type, flags), tagged})
	}
}

// dominates reports whether f wins among all fields with its name.
func (f Field) dominates(same []Field) bool {
	for _, g := range same {
		if slices.Equal(f.Path, g.Path) {
			continue
		}
		if len(g.Path) < len(f.Path) || len(g.Path) == len(f.Path) && (g.tagged || !f.tagged) {
			return false
		}
	}
	return true
}

func isRequired(f reflect.StructField, flags string) bool {
	if _, ok := f.Tag.Lookup("default"); ok || f.Type.Kind() == reflect.Pointer {
		return false
	}
	return !hasFlag(flags, "omitempty") && !hasFlag(flags, "omitzero")
}

// isQuoted reports whether encoding/json encodes the field as a string: numbers, booleans and strings with that
// option.
func isQuoted(t reflect.Type, flags string) bool {
	switch k := Deref(t).Kind(); {
	case !hasFlag(flags, "string"):
		return false
	default:
		return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
	}
}

func hasFlag(flags, flag string) bool { return slices.Contains(strings.Split(flags, ","), flag) }

// Deref returns the type at the end of a chain of pointers.
func Deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// Default returns the JSON of a field's default tag, or nil.
func (f Field) Default() json.RawMessage {
	tag, ok := f.Tag.Lookup("default")
	if !ok {
		return nil
	}
	return f.literal("default", tag, f.Type)
}

// literal returns the JSON of a tag's value: verbatim text for a string, and JSON for other types.
func (f Field) literal(tag, value string, t reflect.Type) []byte {
	t = Deref(t)
	raw := []byte(value)
	if t.Kind() == reflect.String || t.Kind() == reflect.Struct && !json.Valid(raw) {
		raw = jsontext.Quote(value)
	}
	if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
		f.wrong(tag, "cannot hold "+value)
	}
	if f.Quoted {
		return jsontext.Quote(string(raw))
	}
	return raw
}

// wrong panics for an invalid tag in the plugin's source.
func (f Field) wrong(tag, problem string) {
	panic("sallyport: field " + f.StructField.Name + ": tag " + tag + ": " + problem)
}

// described returns the type whose schema the field's tags extend. An unsigned integer with a minimum tag is
// described as a signed one, which has no minimum in its schema.
func (f Field) described() reflect.Type {
	t := Deref(f.Type)
	_, tagged := f.Tag.Lookup("minimum")
	if k := t.Kind(); tagged && k >= reflect.Uint && k <= reflect.Uint64 {
		return reflect.TypeFor[int64]()
	}
	return t
}
