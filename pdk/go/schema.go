package sallyport

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
)

// Schemer is a type that knows its own JSON Schema. JSONSchema is called on a zero value.
type Schemer interface{ JSONSchema() string }

var (
	schemerType       = reflect.TypeFor[Schemer]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	rawType           = reflect.TypeFor[json.RawMessage]()
	bytesType         = reflect.TypeFor[[]byte]()
)

// schemas derives the schema of one type and of what it holds.
type schemas struct {
	closed  bool           // objects take no other members
	open    []reflect.Type // the structs that are being described, outermost first
	defs    object
	defined []reflect.Type // those that refer to themselves, and so stand in defs
}

// schemaOf derives the JSON Schema (2020-12) of a Go type. At the root it always has type object, which
// MCP asks for. Closed objects refuse members that the type does not have.
func schemaOf(t reflect.Type, closed bool) json.RawMessage {
	b := schemas{closed: closed}
	t = deref(t)
	var o object
	switch {
	case t.Kind() == reflect.Struct && !isLeaf(t):
		b.open = append(b.open, t)
		b.structure(&o, t)
	default:
		o.text("type", "object")
		if t.Kind() == reflect.Map {
			o.raw("additionalProperties", b.schema(t.Elem()))
		}
	}
	if len(b.defs.buf) > 0 {
		o.raw("$defs", b.defs.bytes())
	}
	return o.bytes()
}

// isLeaf tells whether a struct is one value in JSON.
func isLeaf(t reflect.Type) bool {
	return isTime(t) || implements(t, schemerType) || implements(t, textMarshalerType) || implements(t, marshalerType)
}

// isTime goes by name: a mention of the type would link all its methods, 200 KB, into every plugin.
func isTime(t reflect.Type) bool { return t.PkgPath() == "time" && t.Name() == "Time" }

func implements(t, i reflect.Type) bool {
	return t.Implements(i) || reflect.PointerTo(t).Implements(i)
}

func (b *schemas) schema(t reflect.Type) []byte {
	var o object
	b.describe(&o, t)
	return o.bytes()
}

// describe writes the members of the schema of t.
func (b *schemas) describe(o *object, t reflect.Type) {
	t = deref(t)
	switch {
	case implements(t, schemerType):
		b.own(o, t)
	case isTime(t):
		o.text("type", "string")
		o.text("format", "date-time")
	case t == rawType:
	case t == bytesType:
		o.text("type", "string")
		o.text("contentEncoding", "base64")
	case implements(t, textMarshalerType):
		o.text("type", "string")
	case implements(t, marshalerType): // it may be anything
	default:
		b.kind(o, t)
	}
}

// own takes the schema that a type gives for itself.
func (b *schemas) own(o *object, t reflect.Type) {
	s := reflect.New(t).Interface().(Schemer).JSONSchema()
	raw := []byte(s)
	if !json.Valid(raw) || len(raw) < 2 || raw[0] != '{' {
		panic("sallyport: " + t.String() + ".JSONSchema is not a JSON object")
	}
	if inner := raw[1 : len(raw)-1]; len(inner) > 0 {
		if len(o.buf) > 0 {
			o.buf = append(o.buf, ',')
		}
		o.buf = append(o.buf, inner...)
	}
}

func (b *schemas) kind(o *object, t reflect.Type) {
	switch t.Kind() {
	case reflect.String:
		o.text("type", "string")
	case reflect.Bool:
		o.text("type", "boolean")
	case reflect.Float32, reflect.Float64:
		o.text("type", "number")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		o.text("type", "integer")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		o.text("type", "integer")
		o.raw("minimum", []byte("0"))
	case reflect.Slice, reflect.Array:
		b.list(o, t)
	case reflect.Map:
		o.text("type", "object")
		o.raw("additionalProperties", b.schema(t.Elem()))
	case reflect.Struct:
		b.nested(o, t)
	case reflect.Interface:
	default:
		panic("sallyport: a " + t.String() + " has no JSON")
	}
}

func (b *schemas) list(o *object, t reflect.Type) {
	o.text("type", "array")
	o.raw("items", b.schema(t.Elem()))
	if t.Kind() == reflect.Array {
		n := []byte(itoa(int64(t.Len())))
		o.raw("minItems", n)
		o.raw("maxItems", n)
	}
}

// nested describes a struct inside another: in place, or by reference if it holds itself.
func (b *schemas) nested(o *object, t reflect.Type) {
	if t == b.open[0] {
		o.text("$ref", "#")
		return
	}
	if slices.Contains(b.open, t) || slices.Contains(b.defined, t) {
		b.defined = append(b.defined, t)
		o.text("$ref", "#/$defs/"+t.Name())
		return
	}
	b.open = append(b.open, t)
	var inner object
	b.structure(&inner, t)
	b.open = b.open[:len(b.open)-1]
	if !slices.Contains(b.defined, t) {
		o.buf = append(o.buf, inner.buf...)
		return
	}
	b.defs.raw(t.Name(), inner.bytes())
	o.text("$ref", "#/$defs/"+t.Name())
}

func (b *schemas) structure(o *object, t reflect.Type) {
	var properties object
	var required []string
	for _, f := range fieldsOf(t) {
		var s object
		b.describe(&s, f.described())
		f.keywords(&s)
		properties.raw(f.name, s.bytes())
		if f.required {
			required = append(required, f.name)
		}
	}
	o.text("type", "object")
	o.raw("properties", properties.bytes())
	if len(required) > 0 {
		mustValue(o, "required", required)
	}
	if b.closed {
		o.raw("additionalProperties", []byte("false"))
	}
}
