package rewrite

import (
	"encoding/binary"
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// survey reads the globals, the start function and the presence of a memory, which determine the additions.
func (w *rewriter) survey() {
	w.start = -1
	w.hasMem = w.b.Memory != nil
	for _, i := range w.b.Imports {
		switch i.Kind {
		case wasmbin.Global:
			w.imported.globals = append(w.imported.globals, i)
		case wasmbin.Mem:
			w.hasMem = true
		}
	}
	for _, s := range w.b.Sections() {
		d := wasmbin.NewDecoder(s.Data, s.Offset, "a section")
		switch s.ID {
		case sectionGlobal:
			w.readGlobals(d)
		case sectionStart:
			w.readStart(d)
		}
		w.note(d.Err())
	}
	if w.err == nil {
		w.plan()
	}
}

func (w *rewriter) readGlobals(d *wasmbin.Decoder) {
	for n := d.Count(4); n > 0 && d.Err() == nil && w.err == nil; n-- {
		g := global{typ: d.ValueType(), mutable: d.Bool()}
		w.constant(d, nil)
		w.globals = append(w.globals, g)
	}
}

func (w *rewriter) readStart(d *wasmbin.Decoder) {
	fn := d.U32()
	typ, ok := w.b.FuncType(fn)
	params, results, _ := w.b.Signature(typ)
	if !ok || len(params)+len(results) > 0 {
		w.malformed("the start function, %d, does not exist or takes or returns something", fn)
	}
	w.start = int64(fn)
	w.ends(d)
}

// plan determines the exports, and records the types and functions they need.
func (w *rewriter) plan() {
	if w.o.Meter {
		w.typeOf("", "\x7e") // of refill
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
		index := uint32(len(w.imported.globals) + i)
		name := fmt.Sprintf("%sglobal.%d", Prefix, index)
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
		accessor{w.typeOf("", "\x7e\x7e"), append(get, opEnd), name + ".get"},
		accessor{w.typeOf("\x7e\x7e", ""), append(set, opEnd), name + ".set"})
}

// typeOf returns the index of a function type, and adds the type if it is new.
func (w *rewriter) typeOf(params, results string) uint32 {
	key := params + ">" + results
	typ, ok := w.blockTypes[key]
	if !ok {
		if w.blockTypes == nil {
			w.blockTypes = make(map[string]uint32)
		}
		typ = uint32(w.b.Types()) + w.nExtraTypes
		w.blockTypes[key] = typ
		w.nExtraTypes++
		w.extraTypes = wasmbin.AppendName(wasmbin.AppendName(append(w.extraTypes, typeFunc), params), results)
	}
	return typ
}

// constant reads a constant expression and appends it, with function indices shifted.
func (w *rewriter) constant(d *wasmbin.Decoder, out []byte) []byte {
	var in wasmbin.Instruction
	if !d.Constant(&in) {
		w.note(d.Err())
		return out
	}
	switch in.Op {
	case opRefFunc:
		in.X = w.declare(in.X)
	case opGlobalGet:
		w.knownGlobal(in.X)
	}
	return append(in.Append(out), opEnd)
}
