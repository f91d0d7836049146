// Package arguments decodes the arguments of a call into Go values: as encoding/json does, but with exact names, with
// the defaults of tags at every depth, and with any spelling of an integer that a JSON Schema allows.
//
// Everything that is to be known about a type is found out once, when a tool is made: encoding/json does so when it
// first meets the type, which in a sandbox would be in every call.
package arguments

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/schema"
)

// Decoder decodes JSON into values of one type.
type Decoder struct {
	set   setter
	begin func(v reflect.Value) // puts defaults in place; nil for none
}

// setter decodes JSON that is well-formed into v. The error is an *Error.
type setter func(v reflect.Value, raw []byte) error

// Of returns the decoder of a type.
func Of(t reflect.Type) *Decoder {
	b := builder{}
	d := &Decoder{set: b.setter(t)}
	if o := b[t]; o != nil {
		d.begin = o.begin
	}
	return d
}

// Decode decodes arguments into a pointer to the decoder's type. No arguments are an empty object. The error is an
// *Error.
func (d *Decoder) Decode(raw []byte, into any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || isNull(raw) {
		raw = []byte("{}")
	}
	return d.set(reflect.ValueOf(into).Elem(), raw)
}

// Error says which argument does not fit.
type Error struct {
	Path string // such as items[2].name; "" is the arguments themselves
	Kind string // the kind of JSON that was sent: string, number, boolean, null, array, object
	Err  error  // of a type that decodes itself; nil for one of ours
}

// Error names the argument.
func (e *Error) Error() string {
	at := "arguments"
	if e.Path != "" {
		at = "argument " + e.Path
	}
	if e.Err != nil {
		return at + ": " + e.Err.Error()
	}
	return at + " cannot be a JSON " + e.Kind
}

// Unwrap is the error of a type that decodes itself.
func (e *Error) Unwrap() error { return e.Err }

// below puts a member's name or an element's index in front of an error's path.
func below(step string, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return &Error{Path: step, Err: err}
	}
	switch {
	case e.Path == "":
		e.Path = step
	case e.Path[0] == '[':
		e.Path = step + e.Path
	default:
		e.Path = step + "." + e.Path
	}
	return e
}

// misfit is the error of a value that a type cannot hold.
func misfit(raw []byte) error {
	kind := "number"
	switch raw[0] {
	case '"':
		kind = "string"
	case 't', 'f':
		kind = "boolean"
	case 'n':
		kind = "null"
	case '[':
		kind = "array"
	case '{':
		kind = "object"
	}
	return &Error{Kind: kind}
}

func isNull(raw []byte) bool { return string(raw) == "null" }

// builder makes setters; it keeps the structs that it has seen, so that a type may hold itself.
type builder map[reflect.Type]*object

func (b builder) setter(t reflect.Type) setter {
	p := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return setRaw
	case p.Implements(reflect.TypeFor[json.Unmarshaler]()), t == reflect.TypeFor[json.Number]():
		return setByLibrary
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return setByText
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.pointer(t)
	case reflect.Struct:
		return b.object(t).decode
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return setBytes
		}
		return b.slice(t)
	case reflect.Array:
		return b.array(t)
	case reflect.Map:
		return b.mapping(t)
	case reflect.String:
		return setText
	case reflect.Bool:
		return setBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return setInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return setUint
	case reflect.Float32, reflect.Float64:
		return setFloat
	}
	return setByLibrary // an interface
}

// object decodes one struct type.
type object struct {
	fields  map[string]*field
	ordered []*field
}

type field struct {
	path  []int
	set   setter
	value []byte              // the default; nil for none
	begin func(reflect.Value) // of a struct in the field; nil for none
}

func (b builder) object(t reflect.Type) *object {
	if o := b[t]; o != nil {
		return o
	}
	o := &object{fields: map[string]*field{}}
	b[t] = o
	for _, f := range schema.Fields(t) {
		one := &field{path: f.Path, set: b.setter(f.Type), value: f.Default()}
		if f.Quoted {
			one.set = quoted(one.set)
		}
		if inner := b[f.Type]; inner != nil && f.Type.Kind() == reflect.Struct { // a struct does not hold itself by value
			one.begin = inner.begin
		}
		o.fields[f.Name] = one
		o.ordered = append(o.ordered, one)
	}
	return o
}

// begin puts defaults in place, also those of structs inside.
func (o *object) begin(v reflect.Value) {
	for _, f := range o.ordered {
		if f.begin != nil {
			f.begin(f.in(v))
		}
		if f.value != nil {
			_ = f.set(f.in(v), f.value) // which was tried when the tag was read
		}
	}
}

func (o *object) decode(v reflect.Value, raw []byte) error {
	if isNull(raw) {
		return nil
	}
	if raw[0] != '{' {
		return misfit(raw)
	}
	o.begin(v)
	return jsontext.Members(raw, func(key string, value []byte) error {
		f := o.fields[key]
		if f == nil {
			return nil
		}
		if err := f.set(f.in(v), value); err != nil {
			return below(key, err)
		}
		return nil
	})
}

// in is the field in a struct; embedded pointers on the way are made.
func (f *field) in(v reflect.Value) reflect.Value {
	for i, at := range f.path {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(at)
	}
	return v
}

func (b builder) pointer(t reflect.Type) setter {
	elem := b.setter(t.Elem())
	return func(v reflect.Value, raw []byte) error {
		if isNull(raw) {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(t.Elem()))
		return elem(v.Elem(), raw)
	}
}

func (b builder) slice(t reflect.Type) setter {
	elem := b.setter(t.Elem())
	return func(v reflect.Value, raw []byte) error {
		if isNull(raw) {
			v.SetZero()
			return nil
		}
		list := reflect.MakeSlice(t, 0, 0)
		err := elements(raw, func(i int, value []byte) error {
			list = reflect.Append(list, reflect.Zero(t.Elem()))
			return elem(list.Index(i), value)
		})
		v.Set(list)
		return err
	}
}

func (b builder) array(t reflect.Type) setter {
	elem := b.setter(t.Elem())
	return func(v reflect.Value, raw []byte) error {
		if isNull(raw) {
			return nil
		}
		v.SetZero()
		return elements(raw, func(i int, value []byte) error {
			if i >= t.Len() {
				return nil
			}
			return elem(v.Index(i), value)
		})
	}
}

// elements calls f with each element of an array.
func elements(raw []byte, f func(i int, value []byte) error) error {
	if raw[0] != '[' {
		return misfit(raw)
	}
	i := 0
	return jsontext.Elements(raw, func(value []byte) error {
		if err := f(i, value); err != nil {
			return below("["+strconv.Itoa(i)+"]", err)
		}
		i++
		return nil
	})
}

// mapping decodes objects into maps with keys that are strings; others are left to encoding/json.
func (b builder) mapping(t reflect.Type) setter {
	if t.Key().Kind() != reflect.String || reflect.PointerTo(t.Key()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return setByLibrary
	}
	elem := b.setter(t.Elem())
	return func(v reflect.Value, raw []byte) error {
		switch {
		case isNull(raw):
			v.SetZero()
			return nil
		case raw[0] != '{':
			return misfit(raw)
		}
		m := reflect.MakeMap(t)
		v.Set(m)
		return jsontext.Members(raw, func(key string, value []byte) error {
			one := reflect.New(t.Elem()).Elem()
			if err := elem(one, value); err != nil {
				return below(key, err)
			}
			name := reflect.New(t.Key()).Elem()
			name.SetString(key)
			m.SetMapIndex(name, one)
			return nil
		})
	}
}

// quoted decodes the value inside of a string.
func quoted(set setter) setter {
	return func(v reflect.Value, raw []byte) error {
		if isNull(raw) {
			return set(v, raw)
		}
		inside, ok := jsontext.Unquote(raw)
		if !ok || !json.Valid([]byte(inside)) || set(v, []byte(inside)) != nil {
			return misfit(raw)
		}
		return nil
	}
}

func setBytes(v reflect.Value, raw []byte) error {
	if isNull(raw) {
		v.SetZero()
		return nil
	}
	text, ok := jsontext.Unquote(raw)
	if !ok {
		return misfit(raw)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return &Error{Err: err}
	}
	v.SetBytes(data)
	return nil
}
