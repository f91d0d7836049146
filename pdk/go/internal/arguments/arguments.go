// Package arguments decodes the arguments of a call into Go values: as encoding/json does, but with exact names,
// defaults from tags at every depth, and every spelling of an integer that JSON Schema allows.
//
// All reflection on a type is done once, when a tool is made. encoding/json would do it at first use, which in a
// sandbox is every call that no warm-up precedes. Containers are decoded in place: no level scans what is below it.
package arguments

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
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

// setter decodes the well-formed JSON value at i of raw into v, and returns its end. Containers are decoded in place, so
// that each level does not scan what is below it. The error is an *Error.
type setter func(v reflect.Value, raw []byte, i int) (end int, err error)

// leaf makes a setter of a function that decodes a whole value.
//
//go:noinline
func leaf(set func(v reflect.Value, raw []byte) error) setter {
	return func(v reflect.Value, raw []byte, i int) (int, error) {
		end := jsontext.Skip(raw, i)
		if end < 0 {
			return 0, errSyntax()
		}
		return end, set(v, raw[i:end])
	}
}

// all decodes raw, which is one value.
func (set setter) all(v reflect.Value, raw []byte) error {
	end, err := set(v, raw, 0)
	if err == nil && end != len(raw) {
		err = errSyntax()
	}
	return err
}

// errSyntax returns a new error each time, since its path is set on the way up.
func errSyntax() error { return &Error{Err: errors.New("not JSON")} }

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
	return d.set.all(reflect.ValueOf(into).Elem(), raw)
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
//
//go:noinline
func misfit(raw []byte) error {
	if len(raw) == 0 {
		return errSyntax()
	}
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

// These are constants for Implements: TinyGo knows no other interfaces there.
var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// builder makes setters. It caches structs by type, for recursive types.
type builder map[reflect.Type]*object

func (b builder) setter(t reflect.Type) setter {
	p := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return leaf(setRaw)
	case p.Implements(unmarshalerType), t == reflect.TypeFor[json.Number]():
		return leaf(setByLibrary)
	case p.Implements(textUnmarshalerType):
		return leaf(setByText)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.pointer(t)
	case reflect.Struct:
		return b.object(t).decode
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return leaf(setBytes)
		}
		return b.slice(t)
	case reflect.Array:
		return b.array(t)
	case reflect.Map:
		return b.mapping(t)
	case reflect.String:
		return leaf(setText)
	case reflect.Bool:
		return leaf(setBool)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return leaf(setInt)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return leaf(setUint)
	case reflect.Float32, reflect.Float64:
		return leaf(setFloat)
	}
	return leaf(setByLibrary) // an interface
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
			_ = f.set.all(f.in(v), f.value) // validated when the tag was parsed
		}
	}
}

func (o *object) decode(v reflect.Value, raw []byte, i int) (int, error) {
	if end, ok := null(raw, i); ok {
		return end, nil
	}
	if i >= len(raw) || raw[i] != '{' {
		return 0, misfit(raw[i:])
	}
	o.begin(v)
	return jsontext.ScanObject(raw, i, func(key []byte, at int) (int, error) {
		f := o.field(key)
		if f == nil {
			return skip(raw, at)
		}
		end, err := f.set(f.in(v), raw, at)
		if err != nil {
			return 0, below(string(key[1:len(key)-1]), err) // the names of fields need no escapes
		}
		return end, nil
	})
}

// field returns the field of a quoted key, or nil.
func (o *object) field(key []byte) *field {
	if inside := key[1 : len(key)-1]; bytes.IndexByte(inside, '\\') < 0 {
		return o.fields[string(inside)]
	}
	name, _ := jsontext.Unquote(key) // an invalid name is no field's
	return o.fields[name]
}

// skip returns the end of a value that is ignored.
func skip(raw []byte, i int) (int, error) {
	end := jsontext.Skip(raw, i)
	if end < 0 {
		return 0, errSyntax()
	}
	return end, nil
}

// null returns the end of the value at i if it is null.
func null(raw []byte, i int) (end int, ok bool) {
	return i + len("null"), bytes.HasPrefix(raw[i:], []byte("null"))
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
	return func(v reflect.Value, raw []byte, i int) (int, error) {
		if end, ok := null(raw, i); ok {
			v.SetZero()
			return end, nil
		}
		v.Set(reflect.New(t.Elem()))
		return elem(v.Elem(), raw, i)
	}
}

func (b builder) slice(t reflect.Type) setter {
	elem := b.setter(t.Elem())
	return func(v reflect.Value, raw []byte, i int) (int, error) {
		v.SetZero()
		if end, ok := null(raw, i); ok {
			return end, nil
		}
		v.Set(reflect.MakeSlice(t, 0, 0))
		return elements(raw, i, func(n, at int) (int, error) {
			v.Grow(1)
			v.SetLen(n + 1)
			v.Index(n).SetZero()
			return elem(v.Index(n), raw, at)
		})
	}
}

func (b builder) array(t reflect.Type) setter {
	elem := b.setter(t.Elem())
	return func(v reflect.Value, raw []byte, i int) (int, error) {
		if end, ok := null(raw, i); ok {
			return end, nil
		}
		v.SetZero()
		return elements(raw, i, func(n, at int) (int, error) {
			if n >= t.Len() {
				return skip(raw, at)
			}
			return elem(v.Index(n), raw, at)
		})
	}
}

// elements calls f with the number and the start of each element of the array at i.
func elements(raw []byte, i int, f func(n, at int) (end int, err error)) (int, error) {
	if i >= len(raw) || raw[i] != '[' {
		return 0, misfit(raw[i:])
	}
	n := 0
	return jsontext.ScanArray(raw, i, func(at int) (int, error) {
		end, err := f(n, at)
		if err != nil {
			return 0, below("["+strconv.Itoa(n)+"]", err)
		}
		n++
		return end, nil
	})
}

// mapping decodes objects into maps with string keys. encoding/json decodes other maps.
func (b builder) mapping(t reflect.Type) setter {
	if t.Key().Kind() != reflect.String || reflect.PointerTo(t.Key()).Implements(textUnmarshalerType) {
		return leaf(setByLibrary)
	}
	elem := b.setter(t.Elem())
	return func(v reflect.Value, raw []byte, i int) (int, error) {
		if end, ok := null(raw, i); ok {
			v.SetZero()
			return end, nil
		}
		if i >= len(raw) || raw[i] != '{' {
			return 0, misfit(raw[i:])
		}
		m := reflect.MakeMap(t)
		v.Set(m)
		return jsontext.ScanObject(raw, i, func(quoted []byte, at int) (int, error) {
			key, ok := jsontext.Unquote(quoted)
			if !ok {
				return 0, errSyntax()
			}
			one := reflect.New(t.Elem()).Elem()
			end, err := elem(one, raw, at)
			if err != nil {
				return 0, below(key, err)
			}
			name := reflect.New(t.Key()).Elem()
			name.SetString(key)
			m.SetMapIndex(name, one)
			return end, nil
		})
	}
}

// quoted decodes a value inside of a string.
func quoted(set setter) setter {
	return leaf(func(v reflect.Value, raw []byte) error {
		if isNull(raw) {
			return set.all(v, raw)
		}
		inside, ok := jsontext.Unquote(raw)
		if !ok || !json.Valid([]byte(inside)) || set.all(v, []byte(inside)) != nil {
			return misfit(raw)
		}
		return nil
	})
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
