package rewrite

import (
	"encoding/binary"
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// types are the function types to add.
type types struct {
	next  uint32 // index of the next one
	known map[string]uint32
	added []byte // encoded
}

// index returns the index of a function type, and adds the type if it is new.
func (t *types) index(params, results string) uint32 {
	key := params + ">" + results
	typ, ok := t.known[key]
	if !ok {
		if t.known == nil {
			t.known = make(map[string]uint32)
		}
		typ = t.next
		t.known[key] = typ
		t.next++
		t.added = wasmbin.AppendName(wasmbin.AppendName(append(t.added, typeFunc), params), results)
	}
	return typ
}

// references are the functions of which the code takes references. The references come from an added table with one
// entry for each function: the engine would allocate a new one each time, and keep it as long as the instance.
type references struct {
	entries  map[uint32]uint32 // the entry of each function
	order    []uint32          // the functions of the entries, by their old indices
	declared map[uint32]bool   // functions also referenced outside of code, as validation requires
}

// entry returns the index of a function in the table.
func (r *references) entry(fn uint32) uint32 {
	at, ok := r.entries[fn]
	if !ok {
		at = uint32(len(r.order))
		r.entries[fn] = at
		r.order = append(r.order, fn)
	}
	return at
}

// declare records that a function is referenced outside of code. The code has been analysed before.
func (r *references) declare(fn uint32) {
	if _, ok := r.entries[fn]; ok {
		r.declared[fn] = true
	}
}

// undeclared returns a function that only the code references.
func (r *references) undeclared() (fn uint32, ok bool) {
	for _, fn := range r.order {
		if !r.declared[fn] {
			return fn, true
		}
	}
	return 0, false
}

// accessor is a function that reads or writes a v128 global.
type accessor struct {
	typ  uint32
	body []byte
	name string
}

// plan determines the exports, and records the types and functions they need.
func (w *rewriter) plan() {
	if w.o.Meter {
		w.types.index("", "\x7e") // of refill
	}
	if !w.o.Snapshot {
		return
	}
	if w.start >= 0 {
		w.info.Start = StartExport
	}
	for i, g := range w.globals {
		if !g.mutable {
			continue
		}
		index := uint32(len(w.imported) + i)
		name := fmt.Sprintf("%sglobal.%d", prefix, index)
		if g.typ != typeV128 {
			w.info.Globals = append(w.info.Globals, Global{Type: g.typ, Export: name})
			continue
		}
		w.info.Globals = append(w.info.Globals, Global{Type: g.typ, Get: name + ".get", Set: name + ".set"})
		w.addGetSet(index, name)
	}
}

// addGetSet adds the two accessors of a v128 global.
func (w *rewriter) addGetSet(index uint32, name string) {
	half := func(out []byte, op, lane byte) []byte { return append(out, opSIMD, op, lane) }
	global := binary.AppendUvarint(nil, uint64(index))
	get := []byte{0} // no locals
	for lane := range byte(2) {
		get = append(append(get, opGlobalGet), global...)
		get = half(get, simdExtractI64, lane)
	}
	set := []byte{0, opLocalGet, 0, opSIMD, simdSplatI64, opLocalGet, 1}
	set = append(append(half(set, simdReplaceI64, 1), opGlobalSet), global...)
	w.getSet = append(w.getSet,
		accessor{w.types.index("", "\x7e\x7e"), append(get, opEnd), name + ".get"},
		accessor{w.types.index("\x7e\x7e", ""), append(set, opEnd), name + ".set"})
}
