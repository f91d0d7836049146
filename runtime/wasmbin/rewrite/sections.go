package rewrite

import (
	"encoding/binary"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// order is the order of the sections in the format.
var order = [...]byte{
	wasmbin.SectionType, wasmbin.SectionImport, wasmbin.SectionFunction, wasmbin.SectionTable, wasmbin.SectionMemory,
	wasmbin.SectionGlobal, wasmbin.SectionExport, wasmbin.SectionStart, wasmbin.SectionElement, wasmbin.SectionDataCount,
	wasmbin.SectionCode, wasmbin.SectionData, wasmbin.SectionCustom,
}

// write returns the new module. The code comes first, since it determines other sections.
func (w *rewriter) write(size int) []byte {
	code := w.writeCode()
	out := make([]byte, 0, size+size/2)
	out = append(out, "\x00asm\x01\x00\x00\x00"...)
	sections := make(map[byte]wasmbin.RawSection)
	for _, s := range w.b.Sections() {
		sections[s.ID] = s // the only custom section holds the names
	}
	for _, id := range order {
		s, there := sections[id]
		if !there {
			s = wasmbin.RawSection{ID: id, Data: []byte{0}}
		}
		switch {
		case w.err != nil:
			return nil
		case id == wasmbin.SectionCode:
			out = appendList(out, id, code)
		case id == wasmbin.SectionCustom && there:
			out = w.writeNames(out, s)
		case id != wasmbin.SectionCustom:
			out = w.writeSection(out, s, !there)
		}
	}
	// The table of references, or an exported start function, would make undeclared references valid.
	if fn, ok := w.refs.undeclared(); ok {
		w.malformed("the code takes a reference of function %d, which is not declared", fn)
	}
	return out
}

// hasReferences reports whether there is a table of references.
func (w *rewriter) hasReferences() bool { return w.o.Meter && len(w.refs.order) > 0 }

// appendList appends a section, unless it is an empty vector.
func appendList(out []byte, id byte, content []byte) []byte {
	if len(content) == 0 || content[0] == 0 {
		return out
	}
	return wasmbin.AppendSection(out, id, content)
}

// writeSection appends a section with its additions. A missing section is written only if it has additions.
func (w *rewriter) writeSection(out []byte, s wasmbin.RawSection, missing bool) []byte {
	d := wasmbin.NewDecoder(s.Data, s.Offset, "a section")
	var content []byte
	switch s.ID {
	case wasmbin.SectionType:
		content = w.extend(d, s.Data, uint32(len(w.types.known)), w.types.added)
	case wasmbin.SectionImport:
		content = w.extendImports(d, s.Data)
	case wasmbin.SectionFunction:
		content = w.extendFunctions(d, s.Data)
	case wasmbin.SectionTable:
		content = s.Data
		if n := uint64(len(w.refs.order)); w.hasReferences() {
			table := binary.AppendUvarint(binary.AppendUvarint([]byte{typeFuncRef, 1}, n), n)
			content = w.extend(d, s.Data, 1, table)
		}
	case wasmbin.SectionGlobal:
		content = w.writeGlobals(d)
	case wasmbin.SectionExport:
		content = w.writeExports(d)
	case wasmbin.SectionStart:
		if missing || w.o.Snapshot {
			return out
		}
		return wasmbin.AppendSection(out, s.ID, binary.AppendUvarint(nil, uint64(w.shift(uint32(w.start)))))
	case wasmbin.SectionElement:
		content = w.writeElements(d)
	case wasmbin.SectionDataCount:
		if missing || w.dropsData() {
			return out
		}
		return wasmbin.AppendSection(out, s.ID, s.Data)
	case wasmbin.SectionData:
		content = s.Data
		if w.o.Snapshot {
			content = w.writeData(d)
		}
	default: // the memory
		content = s.Data
	}
	return appendList(out, s.ID, content)
}

// extend appends n encoded entries to a vector.
func (w *rewriter) extend(d *wasmbin.Decoder, data []byte, n uint32, entries []byte) []byte {
	out := binary.AppendUvarint(make([]byte, 0, len(data)+len(entries)+4), uint64(d.U32())+uint64(n))
	w.note(d.Err())
	out = append(out, data[d.Pos():]...)
	return append(out, entries...)
}

func (w *rewriter) extendImports(d *wasmbin.Decoder, data []byte) []byte {
	if !w.o.Meter {
		return data
	}
	refill := append(wasmbin.AppendName(wasmbin.AppendName(nil, Module), RefillImport), byte(wasmbin.Func))
	return w.extend(d, data, 1, binary.AppendUvarint(refill, uint64(w.types.index("", "\x7e"))))
}

func (w *rewriter) extendFunctions(d *wasmbin.Decoder, data []byte) []byte {
	var types []byte
	for _, a := range w.getSet {
		types = binary.AppendUvarint(types, uint64(a.typ))
	}
	return w.extend(d, data, uint32(len(w.getSet)), types)
}

// writeGlobals shifts function indices in the initial values and adds the counters.
func (w *rewriter) writeGlobals(d *wasmbin.Decoder) []byte {
	n := d.Count(4)
	counters := 0
	if w.o.Meter {
		counters = 2
	}
	out := binary.AppendUvarint(nil, uint64(n+counters))
	for ; n > 0 && d.Err() == nil && w.err == nil; n-- {
		out = append(out, d.ValueType(), bit(d.Bool()))
		out = w.constant(d, out)
	}
	w.ends(d)
	if w.o.Meter {
		out = append(out, typeI64, 1, opI64Const, 0, opEnd)
		out = append(wasmbin.AppendS64(append(out, typeI64, 1, opI64Const), w.o.Depth), opEnd)
	}
	return out
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// exports accumulates an export section.
type exports struct {
	n   int
	out []byte
}

func (e *exports) add(name string, kind wasmbin.Kind, index uint32) {
	e.n++
	e.out = append(wasmbin.AppendName(e.out, name), byte(kind))
	e.out = binary.AppendUvarint(e.out, uint64(index))
}

func (w *rewriter) writeExports(d *wasmbin.Decoder) []byte {
	var e exports
	for n := d.Count(3); n > 0 && d.Err() == nil; n-- {
		name, kind, index := d.Name(), wasmbin.Kind(d.U8()), d.U32()
		switch {
		case d.Err() != nil:
		case kind == wasmbin.Func:
			index = w.declare(index)
		case kind == wasmbin.Global:
			w.knownGlobal(index)
		}
		e.add(name, kind, index)
	}
	w.ends(d)
	if w.o.Meter {
		e.add(FuelGlobal, wasmbin.Global, w.fuel())
		e.add(DepthGlobal, wasmbin.Global, w.depth())
	}
	if w.o.Snapshot {
		w.exportState(&e)
	}
	return append(binary.AppendUvarint(nil, uint64(e.n)), e.out...)
}

// exportState adds the exports of a snapshot.
func (w *rewriter) exportState(e *exports) {
	if w.start >= 0 {
		e.add(StartExport, wasmbin.Func, w.shift(uint32(w.start)))
	}
	p := &w.program
	if w.info.Resumable = w.resumable(&p.wait, goWait); w.info.Resumable {
		e.add(WaitExport, wasmbin.Func, w.shift(p.wait.callers[0]))
		e.add(LoopExport, wasmbin.Func, w.shift(p.loop))
	}
	if w.info.Clocked = w.info.Resumable && p.sp == goStackPointer && w.resumable(&p.clock, goClock); w.info.Clocked {
		e.add(ClockExport, wasmbin.Func, w.shift(p.clock.callers[0]))
		w.info.Stack = p.stack
	}
	name := 0
	for i, g := range w.globals {
		if g.mutable {
			if x := w.info.Globals[name].Export; x != "" {
				e.add(x, wasmbin.Global, uint32(len(w.imported)+i))
			}
			name++
		}
	}
	first := uint32(w.b.ImportedFuncs() + w.b.Funcs)
	if w.o.Meter {
		first++
	}
	for i, a := range w.getSet {
		e.add(a.name, wasmbin.Func, first+uint32(i))
	}
}
