// Package schema derives a JSON Schema from a Go type and the tags of its fields.
package schema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Schemer is a type that defines its own JSON Schema. JSONSchema is called on a zero value.
type Schemer interface{ JSONSchema() string }

var (
	schemerType       = reflect.TypeFor[Schemer]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	rawType           = reflect.TypeFor[json.RawMessage]()
	bytesType         = reflect.TypeFor[[]byte]()
)

// Use is the purpose of a schema.
type Use int

// Purposes of a schema.
const (
	Input  Use = iota // arguments: objects refuse unknown members
	Form              // form of a question
	Output            // results: allows null for nil slices, maps and pointers, as encoding/json writes it
)

// schemas derives the schema of one type and its components.
type schemas struct {
	use     Use
	root    reflect.Type   // the struct that is the whole schema, or nil
	open    []reflect.Type // structs in progress, outermost first
	defs    jsontext.Object
	defined []reflect.Type // recursive structs, described in $defs
}

// Of returns the JSON Schema (2020-12) of a Go type. Its root always has type object, as MCP requires.
func Of(t reflect.Type, use Use) json.RawMessage {
	b := schemas{use: use}
	t = Deref(t)
	var o jsontext.Object
	switch {
	case t.Kind() == reflect.Struct && !isLeaf(t):
		b.root, b.open = t, append(b.open, t)
		b.structure(&o, t)
	default:
		o.Text("type", "object")
		if t.Kind() == reflect.Map {
			o.Raw("additionalProperties", b.schema(t.Elem()))
		}
	}
	if !b.defs.Empty() {
		o.Raw("$defs", b.defs.Bytes())
	}
	return o.Bytes()
}

// isLeaf reports whether a struct is a single value in JSON.
func isLeaf(t reflect.Type) bool {
	return isTime(t) || isSchemer(t) || isTextMarshaler(t) || isMarshaler(t)
}

// isTime compares names: a reference to the type would link all its methods, 200 KB, into every plugin.
func isTime(t reflect.Type) bool { return t.PkgPath() == "time" && t.Name() == "Time" }

// The interface is a constant in each call of Implements: TinyGo knows no other ones.

func isSchemer(t reflect.Type) bool {
	return t.Implements(schemerType) || reflect.PointerTo(t).Implements(schemerType)
}

func isTextMarshaler(t reflect.Type) bool {
	return t.Implements(textMarshalerType) || reflect.PointerTo(t).Implements(textMarshalerType)
}

func isMarshaler(t reflect.Type) bool {
	return t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType)
}

func (b *schemas) schema(t reflect.Type) []byte {
	var o jsontext.Object
	b.describe(&o, t)
	return o.Bytes()
}

// describe adds the members of the schema of t, including null where a result may have it.
func (b *schemas) describe(o *jsontext.Object, t reflect.Type) {
	if b.use != Output || !isNullable(t) {
		b.value(o, t)
		return
	}
	var one jsontext.Object
	b.value(&one, t)
	if !one.Empty() { // an empty schema already allows null
		o.Raw("anyOf", jsontext.Array([][]byte{one.Bytes(), []byte(`{"type":"null"}`)}))
	}
}

// isNullable reports whether encoding/json may encode a value of the type as null.
func isNullable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return !isSchemer(t)
	}
	return false
}

// value adds the members of the schema of t without null.
func (b *schemas) value(o *jsontext.Object, t reflect.Type) {
	t = Deref(t)
	switch {
	case isSchemer(t):
		b.own(o, t)
	case isTime(t):
		o.Text("type", "string")
		o.Text("format", "date-time")
	case t == rawType:
	case t == bytesType:
		o.Text("type", "string")
		o.Text("contentEncoding", "base64")
	case isTextMarshaler(t):
		o.Text("type", "string")
	case isMarshaler(t): // any value
	default:
		b.kind(o, t)
	}
}

// own adds the schema that a type defines for itself.
func (b *schemas) own(o *jsontext.Object, t reflect.Type) {
	s := reflect.New(t).Interface().(Schemer).JSONSchema()
	raw := []byte(s)
	if !json.Valid(raw) || len(raw) < 2 || raw[0] != '{' {
		panic("sallyport: " + t.String() + ".JSONSchema is not a JSON object")
	}
	o.Members(raw[1 : len(raw)-1])
}

func (b *schemas) kind(o *jsontext.Object, t reflect.Type) {
	switch t.Kind() {
	case reflect.String:
		o.Text("type", "string")
	case reflect.Bool:
		o.Text("type", "boolean")
	case reflect.Float32, reflect.Float64:
		o.Text("type", "number")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		o.Text("type", "integer")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		o.Text("type", "integer")
		o.Raw("minimum", []byte("0"))
	case reflect.Slice, reflect.Array:
		b.list(o, t)
	case reflect.Map:
		o.Text("type", "object")
		o.Raw("additionalProperties", b.schema(t.Elem()))
	case reflect.Struct:
		b.nested(o, t)
	case reflect.Interface:
	default:
		panic("sallyport: a " + t.String() + " has no JSON")
	}
}

func (b *schemas) list(o *jsontext.Object, t reflect.Type) {
	o.Text("type", "array")
	o.Raw("items", b.schema(t.Elem()))
	if t.Kind() == reflect.Array {
		n := []byte(strconv.Itoa(t.Len()))
		o.Raw("minItems", n)
		o.Raw("maxItems", n)
	}
}

// nested describes a struct within another: inline, or by reference if it is recursive.
func (b *schemas) nested(o *jsontext.Object, t reflect.Type) {
	if t == b.root {
		o.Text("$ref", "#")
		return
	}
	if slices.Contains(b.open, t) || slices.Contains(b.defined, t) {
		if !slices.Contains(b.defined, t) {
			b.defined = append(b.defined, t)
		}
		o.Text("$ref", "#/$defs/"+b.nameOf(t))
		return
	}
	b.open = append(b.open, t)
	var inner jsontext.Object
	b.structure(&inner, t)
	b.open = b.open[:len(b.open)-1]
	if !slices.Contains(b.defined, t) {
		o.Merge(&inner)
		return
	}
	b.defs.Raw(b.nameOf(t), inner.Bytes())
	o.Text("$ref", "#/$defs/"+b.nameOf(t))
}

// nameOf returns the name of a type in $defs: its Go name without characters that a JSON pointer cannot hold, with a
// number if it is taken.
func (b *schemas) nameOf(t reflect.Type) string {
	name, twins := plainName(t), 0
	for _, other := range b.defined {
		if other == t {
			break
		}
		if plainName(other) == name {
			twins++
		}
	}
	if twins > 0 {
		name += strconv.Itoa(twins + 1)
	}
	return name
}

func plainName(t reflect.Type) string {
	name := []byte(t.Name())
	for i, c := range name {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			name[i] = '_'
		}
	}
	return string(name)
}

func (b *schemas) structure(o *jsontext.Object, t reflect.Type) {
	var properties jsontext.Object
	var required []string
	for _, f := range Fields(t) {
		var s jsontext.Object
		b.field(&s, f)
		properties.Raw(f.Name, s.Bytes())
		if f.Required {
			required = append(required, f.Name)
		}
	}
	o.Text("type", "object")
	o.Raw("properties", properties.Bytes())
	if len(required) > 0 {
		o.Raw("required", texts(required))
	}
	if b.use == Input {
		o.Raw("additionalProperties", []byte("false"))
	}
}

// field adds the schema of a field, with the keywords of its tags.
func (b *schemas) field(o *jsontext.Object, f Field) {
	if f.Quoted {
		o.Text("type", "string")
		f.keywords(o)
		return
	}
	var one jsontext.Object
	b.value(&one, f.described())
	f.keywords(&one)
	if b.use == Output && isNullable(f.Type) && !one.Empty() {
		o.Raw("anyOf", jsontext.Array([][]byte{one.Bytes(), []byte(`{"type":"null"}`)}))
		return
	}
	o.Merge(&one)
}

func texts(all []string) []byte {
	quoted := make([][]byte, len(all))
	for i, s := range all {
		quoted[i] = jsontext.Quote(s)
	}
	return jsontext.Array(quoted)
}
