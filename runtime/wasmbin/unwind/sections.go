package unwind

import (
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Uncaught is the name of the functions that trap when an exception has left the function that they call.
const Uncaught = "uncaught exception"

// order is the order of the sections in the format.
var order = [...]byte{
	wasmbin.SectionType, wasmbin.SectionImport, wasmbin.SectionFunction, wasmbin.SectionTable, wasmbin.SectionMemory,
	wasmbin.SectionGlobal, wasmbin.SectionExport, wasmbin.SectionStart, wasmbin.SectionElement, wasmbin.SectionDataCount,
	wasmbin.SectionCode, wasmbin.SectionData, wasmbin.SectionCustom,
}

// write returns the new module. The code and the exports come first, since they determine other sections.
func (l *lowering) write() []byte {
	code, exports := l.code(), l.exports()
	start, starts := l.startFunction()
	contents := map[byte][]byte{wasmbin.SectionExport: exports, wasmbin.SectionGlobal: l.globals()}
	if starts {
		contents[wasmbin.SectionStart] = appendU32(nil, start)
	}
	for _, fn := range l.wrappers {
		code.add(l.wrapper(fn))
		l.bound(code)
	}
	contents[wasmbin.SectionFunction] = l.functionSection()
	contents[wasmbin.SectionCode] = code.bytes()
	contents[wasmbin.SectionType] = l.typeSection()
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range order {
		content, changed := contents[id]
		s, there := l.section(id)
		switch {
		case id == wasmbin.SectionCustom:
			content = l.names(s, there)
		case !changed:
			content = s.Data
		}
		if len(content) > 0 {
			out = wasmbin.AppendSection(out, id, content)
		}
	}
	return out
}

// vector is an encoded vector whose length is not known yet.
type vector struct {
	n   uint32
	out []byte
}

func (v *vector) add(entry []byte) { v.n, v.out = v.n+1, append(v.out, entry...) }

// bytes returns the encoding; nil if there are no entries.
func (v *vector) bytes() []byte {
	if v.n == 0 {
		return nil
	}
	return append(appendU32(nil, v.n), v.out...)
}

func (l *lowering) code() *vector {
	v := &vector{}
	var scratch []byte
	l.eachFunction(func(fn uint32, body []byte, at int) {
		scratch = l.writeFunction(scratch[:0], fn, body, at)
		v.n, v.out = v.n+1, wasmbin.AppendBytes(v.out, scratch)
		l.bound(v)
	})
	return v
}

// A module's code may become maxGrowth times as long as the whole file, and maxAdded bytes longer. That of real modules
// becomes half as long again.
const (
	maxGrowth = 8
	maxAdded  = 1 << 20
)

// bound records an error if the code has become too long.
func (l *lowering) bound(code *vector) {
	if limit := maxGrowth*l.m.Size() + maxAdded; len(code.out) > limit && l.err == nil {
		l.err = fmt.Errorf("%w: the code without exceptions has more than %d bytes", wasmbin.ErrLimit, limit)
	}
}

// wrapped returns the function to export for a function: one that traps if an exception leaves that.
func (l *lowering) wrapped(fn uint32) uint32 {
	if !l.mayThrow(fn) {
		return fn
	}
	w, ok := l.wrapperOf[fn]
	if !ok {
		w = uint32(l.functions() + len(l.wrappers))
		l.wrapperOf[fn] = w
		l.wrappers = append(l.wrappers, fn)
	}
	return w
}

// wrapper returns the body of the function to export for a function.
func (l *lowering) wrapper(fn uint32) []byte {
	typ, _ := l.m.FuncType(fn)
	params, _, _ := l.m.Signature(typ)
	body := []byte{0} // no locals
	for i := range params {
		body = appendU32(append(body, opLocalGet), uint32(i))
	}
	body = appendU32(append(body, opCall), fn)
	body = appendU32(append(body, opGlobalGet), l.exception)
	return wasmbin.AppendBytes(nil, append(body, opIf, typeEmpty, opUnreachable, opEnd, opEnd))
}

func (l *lowering) exports() []byte {
	v := &vector{}
	for _, e := range l.m.Exports {
		index := e.Index
		switch e.Kind {
		case wasmbin.Tag:
			continue
		case wasmbin.Func:
			index = l.wrapped(e.Index)
		}
		v.add(appendU32(append(wasmbin.AppendName(nil, e.Name), byte(e.Kind)), index))
	}
	return v.bytes()
}

func (l *lowering) startFunction() (fn uint32, ok bool) {
	s, ok := l.section(wasmbin.SectionStart)
	if !ok {
		return 0, false
	}
	return l.wrapped(wasmbin.NewDecoder(s.Data, s.Offset, "the start section").U32()), true
}

func (l *lowering) typeSection() []byte {
	v := &vector{}
	for typ := range uint32(l.m.Types()) {
		params, results, _ := l.m.Signature(typ)
		v.add(wasmbin.AppendBytes(wasmbin.AppendBytes([]byte{typeFunc}, plainTypes(params)), plainTypes(results)))
	}
	v.n, v.out = v.n+uint32(len(l.types)), append(v.out, l.added...)
	return v.bytes()
}

func (l *lowering) functionSection() []byte {
	v := &vector{}
	for fn := l.m.ImportedFuncs(); fn < l.functions(); fn++ {
		typ, _ := l.m.FuncType(uint32(fn))
		v.add(appendU32(nil, typ))
	}
	for _, fn := range l.wrappers {
		typ, _ := l.m.FuncType(fn)
		v.add(appendU32(nil, typ))
	}
	return v.bytes()
}

// globals writes the globals, with those of the exception in flight.
func (l *lowering) globals() []byte {
	v := &vector{}
	if s, ok := l.section(wasmbin.SectionGlobal); ok {
		d := wasmbin.NewDecoder(s.Data, s.Offset, "the global section")
		var in wasmbin.Instruction
		for n := d.Count(4); n > 0 && d.Err() == nil; n-- {
			typ, mutable := d.ValueType(), d.U8()
			d.Constant(&in)
			value := in.Append(nil)
			if in.Op == opRefNull && in.Type == wasmbin.ExnRef {
				value = zeros[typeI64]
			}
			v.add(append(append([]byte{plain(typ), mutable}, value...), opEnd))
		}
		l.note(d.Err())
	}
	for _, t := range append([]byte{typeI32}, l.slots...) {
		v.add(append(append([]byte{t, 1}, zeros[t]...), opEnd))
	}
	return v.bytes()
}

// names writes the name section, which has only function names, and names the functions to export.
func (l *lowering) names(s wasmbin.RawSection, there bool) []byte {
	v := &vector{}
	if there {
		d := wasmbin.NewDecoder(s.Data, s.Offset, "the name section")
		d.Name()
		d.U8()  // the part of functions
		d.U32() // its length
		for n := d.Count(2); n > 0 && d.Err() == nil; n-- {
			v.add(wasmbin.AppendName(appendU32(nil, d.U32()), d.Name()))
		}
		l.note(d.Err())
	}
	for i := range l.wrappers {
		v.add(wasmbin.AppendName(appendU32(nil, uint32(l.functions()+i)), Uncaught))
	}
	if v.n == 0 {
		return nil
	}
	return wasmbin.AppendBytes(append(wasmbin.AppendName(nil, "name"), 1), v.bytes())
}
