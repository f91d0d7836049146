package runtime

import (
	"errors"
	"reflect"
	"slices"

	"github.com/tetratelabs/wazero/api"
)

// refs is the state of an instance outside of its memory and numeric globals: references in tables and globals, and
// segments that code can drop. The engine has no API for them, so they are accessed in its own structures by
// reflection.
type refs struct {
	tables   []*[]uintptr
	elements [][]uintptr
	data     [][]byte
	globals  []api.MutableGlobal
	// initial holds the null reference, then every reference that the instance began with, in an order that all
	// instances of the module share. Code can obtain no others: the host passes none, and all come from tables.
	initial []uintptr

	clean struct { // the state that restore resets to
		tables, contents, elements [][]uintptr
		data                       [][]byte
		globals                    []uint64
	}
}

var (
	errNoTables  = errors.New("the engine's tables cannot be reached")
	errReference = errors.New("a reference is none that the module began with")
)

// reach collects the references of a new instance. globals are those of a reference type.
func reach(mod api.Module, globals []api.MutableGlobal) (*refs, error) {
	v := reflect.ValueOf(mod)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, errNoTables
	}
	r := &refs{globals: globals, initial: []uintptr{0}}
	tables := v.Elem().FieldByName("Tables")
	ok := tables.IsValid() && tables.Kind() == reflect.Slice && field(v, "ElementInstances", &r.elements) && field(v, "DataInstances", &r.data)
	for i := 0; ok && i < tables.Len(); i++ {
		var entries *[]uintptr
		if ok = address(tables.Index(i), "References", &entries); ok {
			r.tables = append(r.tables, entries)
			r.initial = append(r.initial, *entries...)
		}
	}
	if !ok {
		return nil, errNoTables
	}
	for _, e := range r.elements {
		r.initial = append(r.initial, e...)
	}
	for _, g := range globals {
		r.initial = append(r.initial, uintptr(g.Get()))
	}
	return r, nil
}

// field reads a field of the struct that v points to.
func field[T any](v reflect.Value, name string, to *T) bool {
	var p *T
	if !address(v, name, &p) {
		return false
	}
	*to = *p
	return true
}

// address returns the address of a field of the struct that v points to.
func address[T any](v reflect.Value, name string, to **T) bool {
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	f := v.Elem().FieldByName(name)
	if !f.IsValid() || !f.CanAddr() || !f.CanInterface() {
		return false
	}
	p, ok := f.Addr().Interface().(*T)
	*to = p
	return ok
}

// refImage is the reference state of a template, as indices into refs.initial, valid for any instance of the module.
type refImage struct {
	tables   [][]int32
	globals  []int32
	elements []bool // not dropped
	data     []bool
}

// describe returns the current state as a refImage.
func (r *refs) describe() (*refImage, error) {
	at := make(map[uintptr]int32, len(r.initial))
	for i, ref := range slices.Backward(r.initial) {
		at[ref] = int32(i)
	}
	m := &refImage{}
	place := func(ref uintptr) (int32, error) {
		i, ok := at[ref]
		if !ok {
			return 0, errReference
		}
		return i, nil
	}
	for _, t := range r.tables {
		places, err := each(*t, place)
		if err != nil {
			return nil, err
		}
		m.tables = append(m.tables, places)
	}
	var err error
	m.globals, err = each(r.globals, func(g api.MutableGlobal) (int32, error) { return place(uintptr(g.Get())) })
	for _, e := range r.elements {
		m.elements = append(m.elements, e != nil)
	}
	for _, d := range r.data {
		m.data = append(m.data, d != nil)
	}
	return m, err
}

func each[A, B any](all []A, f func(A) (B, error)) ([]B, error) {
	out := make([]B, len(all))
	for i, a := range all {
		b, err := f(a)
		if err != nil {
			return nil, err
		}
		out[i] = b
	}
	return out, nil
}

// become sets a new instance to the state of the template, and records that for restore.
func (r *refs) become(m *refImage) {
	for i, places := range m.tables {
		entries := make([]uintptr, len(places))
		for j, at := range places {
			entries[j] = r.initial[at]
		}
		*r.tables[i] = entries
	}
	for i, at := range m.globals {
		r.globals[i].Set(uint64(r.initial[at]))
	}
	for i, there := range m.elements {
		if !there {
			r.elements[i] = nil
		}
	}
	for i, there := range m.data {
		if !there {
			r.data[i] = nil
		}
	}
	r.keep()
}

// keep records the current state for restore.
func (r *refs) keep() {
	c := &r.clean
	for _, t := range r.tables {
		c.tables = append(c.tables, *t)
		c.contents = append(c.contents, slices.Clone(*t))
	}
	c.elements, c.data = slices.Clone(r.elements), slices.Clone(r.data)
	for _, g := range r.globals {
		c.globals = append(c.globals, g.Get())
	}
}

// restore resets to the recorded state. A table that has grown shrinks to its original length.
func (r *refs) restore() {
	for i, t := range r.tables {
		base := r.clean.tables[i]
		copy(base, r.clean.contents[i])
		*t = base[:len(base):len(base)]
	}
	copy(r.elements, r.clean.elements)
	copy(r.data, r.clean.data)
	for i, g := range r.globals {
		g.Set(r.clean.globals[i])
	}
}
