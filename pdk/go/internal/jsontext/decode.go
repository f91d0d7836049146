package jsontext

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// Plan is how objects are decoded into one struct type: what encoding/json finds out about the type when it first
// meets it, which in a sandbox would be in every call.
type Plan struct{ fields map[string]field }

type field struct {
	index int
	set   func(v reflect.Value, raw []byte) bool // false: it is left to encoding/json
}

// PlanOf returns the plan of a type, nil if only encoding/json knows how to decode it.
func PlanOf(t reflect.Type) *Plan {
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return nil
	}
	p := &Plan{fields: map[string]field{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous || strings.Contains(options, "string"):
			return nil
		case !f.IsExported() || name == "-" && options == "":
			continue
		case name == "":
			name = f.Name
		}
		if _, twice := p.fields[name]; twice {
			return nil
		}
		p.fields[name] = field{i, setter(f.Type)}
	}
	return p
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// Decode is json.Unmarshal of one object into a pointer to the plan's type.
func (p *Plan) Decode(raw []byte, into any) error {
	if p == nil || !p.decode(raw, reflect.ValueOf(into).Elem()) {
		return json.Unmarshal(raw, into)
	}
	return nil
}

// decode gives up where encoding/json would not do the plain thing; it then decodes all of it anew.
func (p *Plan) decode(raw []byte, v reflect.Value) bool {
	return Members(raw, func(key string, value []byte) error {
		f, ok := p.fields[key]
		if !ok {
			if p.folds(key) {
				return errSyntax
			}
			return nil
		}
		if at := v.Field(f.index); f.set(at, value) || json.Unmarshal(value, at.Addr().Interface()) == nil {
			return nil
		}
		return errSyntax
	}) == nil
}

// folds tells whether encoding/json would take the key for one of the fields.
func (p *Plan) folds(key string) bool {
	for name := range p.fields {
		if strings.EqualFold(name, key) {
			return true
		}
	}
	return false
}

func setter(t reflect.Type) func(reflect.Value, []byte) bool {
	if !decodesItself(t) && t != reflect.TypeFor[json.Number]() {
		switch t.Kind() {
		case reflect.String:
			return setText
		case reflect.Bool:
			return setBool
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			return setInt
		}
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return setRaw
	}
	return func(reflect.Value, []byte) bool { return false }
}

func setText(v reflect.Value, raw []byte) bool {
	s, ok := Unquote(raw)
	if ok {
		v.SetString(s)
	}
	return ok
}

func setBool(v reflect.Value, raw []byte) bool {
	is := string(raw) == "true"
	if is || string(raw) == "false" {
		v.SetBool(is)
		return true
	}
	return false
}

func setInt(v reflect.Value, raw []byte) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return false
	}
	v.SetInt(n)
	return true
}

func setRaw(v reflect.Value, raw []byte) bool {
	v.SetBytes(bytes.Clone(raw))
	return true
}
