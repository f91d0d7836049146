// Package arguments decodes the arguments of a call into Go values: as encoding/json does, but with exact names,
// defaults from tags at every depth, and every spelling of an integer that JSON Schema allows.
//
// All reflection on a type is done once, when a tool is made. encoding/json would do it at first use, which in a
// sandbox is every call.
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
	begin func(v reflect.Value) // sets defaults; may be nil
}

// setter decodes well-formed JSON into v. The error is an *Error.
type setter func(v reflect.Value, raw []byte) error

// Of returns the Decoder of a type.
func Of(t reflect.Type) *Decoder {
	b := builder{}
	d := &Decoder{set: b.setter(t)}
	if o := b[t]; o != nil {
		d.begin = o.begin
	}
	return d
}

// Decode decodes arguments into a pointer to the Decoder's type. Absent arguments are an empty object. The error is
// an *Error.
func (d *Decoder) Decode(raw []byte, into any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || isNull(raw) {
		raw = []byte("{}")
	}
	return d.set(reflect.ValueOf(into).Elem(), raw)
}

// Error names an argument that has the wrong type or value.
type Error struct {
	Path string // such as items[2].name; "" for the arguments as a whole
	Kind string // JSON type of the value: string, number, boolean, null, array, object
	Err  error  // error of a type with its own decoder, or nil
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

// Unwrap returns the error of a type with its own decoder.
func (e *Error) Unwrap() error { return e.Err }

// below prepends a member's name or an element's index to an error's path.
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

// misfit returns the error of a value that does not fit its type.
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

// builder makes setters. It caches structs by type, for recursive types.
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
	value []byte              // JSON of the default; may be nil
	begin func(reflect.Value) // sets defaults of a struct in the field; may be nil
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
		if inner := b[f.Type]; inner != nil && f.Type.Kind() == reflect.Struct { // a struct cannot contain itself by value
			one.begin = inner.begin
		}
		o.fields[f.Name] = one
		o.ordered = append(o.ordered, one)
	}
	return o
}

// begin sets defaults, including those of nested structs.
func (o *object) begin(v reflect.Value) {
	for _, f := range o.ordered {
		if f.begin != nil {
			f.begin(f.in(v))
		}
		if f.value != nil {
			_ = f.set(f.in(v), f.value) // validated when the tag was parsed
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

// in returns the field in a struct. It allocates embedded pointers on the way.
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

// mapping decodes objects into maps with string keys. encoding/json decodes other maps.
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

// quoted decodes a value inside of a string.
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
