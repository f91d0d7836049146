package main

import (
	"encoding/binary"
	"fmt"
)

const (
	customSection   = 0
	typeSection     = 1
	importSection   = 2
	functionSection = 3
	exportSection   = 7
	codeSection     = 10

	opCall         = 0x10
	opCallIndirect = 0x11
	opConst        = 0x41
	opEnd          = 0x0b
)

// module is a module as far as calls need it.
type module struct {
	sections  []section
	types     [][]byte // the results
	imports   int      // of functions
	functions []function
	exports   []export
	names     map[int]string // of functions, by their index
}

type section struct {
	id   byte
	body []byte
}

type function struct {
	typ  uint64
	body []byte // with its locals
}

type export struct {
	name  string
	kind  byte
	index int
}

func (m *module) function(index int) function { return m.functions[index-m.imports] }

// reader reads the primitives of the format. It panics with an error at the end of its bytes.
type reader struct{ b []byte }

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		panic(fmt.Errorf("%d bytes are missing", n-uint64(len(r.b))))
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte { return r.take(1)[0] }

// u reads an unsigned number in LEB128.
func (r *reader) u() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		panic(fmt.Errorf("a number is malformed"))
	}
	r.b = r.b[n:]
	return v
}

// skipNumber reads a number in LEB128 of any size and sign.
func (r *reader) skipNumber() {
	for r.byte() >= 0x80 {
	}
}

func (r *reader) text() string { return string(r.take(r.u())) }

func readModule(wasm []byte) *module {
	m := &module{names: map[int]string{}}
	for r := (reader{wasm[8:]}); len(r.b) > 0; {
		s := section{id: r.byte()}
		s.body = r.take(r.u())
		m.sections = append(m.sections, s)
		m.read(s)
	}
	return m
}

func (m *module) read(s section) {
	r := reader{s.body}
	if s.id == customSection {
		if r.text() == "name" {
			m.readNames(&r)
		}
		return
	}
	switch s.id {
	case typeSection, importSection, functionSection, exportSection, codeSection:
		for i := range r.u() {
			m.readItem(s.id, int(i), &r)
		}
	}
}

func (m *module) readItem(id byte, i int, r *reader) {
	switch id {
	case typeSection:
		r.byte()
		r.take(r.u())
		m.types = append(m.types, r.take(r.u()))
	case importSection:
		r.text()
		r.text()
		if kind := r.byte(); kind != 0 {
			panic(fmt.Errorf("an import of kind %d", kind))
		}
		r.u()
		m.imports++
	case functionSection:
		m.functions = append(m.functions, function{typ: r.u()})
	case exportSection:
		m.exports = append(m.exports, export{r.text(), r.byte(), int(r.u())})
	case codeSection:
		m.functions[i].body = r.take(r.u())
	}
}

func (m *module) readNames(r *reader) {
	for len(r.b) > 0 {
		id, sub := r.byte(), reader{r.take(r.u())}
		if id != 1 {
			continue
		}
		for range sub.u() {
			index := sub.u()
			m.names[int(index)] = sub.text()
		}
	}
}

func (m *module) exportsWithout(name string) []byte {
	out := binary.AppendUvarint(nil, uint64(len(m.exports)-1))
	for _, e := range m.exports {
		if e.name != name {
			out = binary.AppendUvarint(out, uint64(len(e.name)))
			out = append(append(out, e.name...), e.kind)
			out = binary.AppendUvarint(out, uint64(e.index))
		}
	}
	return out
}

// walk passes the locals of a body, as an instruction 0, and each instruction with its bytes.
func walk(body []byte, visit func(op byte, callee int, raw []byte)) {
	r := reader{body}
	for range r.u() {
		r.u()
		r.byte()
	}
	visit(0, 0, body[:len(body)-len(r.b)])
	for len(r.b) > 0 {
		begin := r.b
		op, callee := r.byte(), 0
		if op == opCall {
			callee = int(r.u())
		} else {
			r.skip(op)
		}
		visit(op, callee, begin[:len(begin)-len(r.b)])
	}
}

// skip reads the immediates of an instruction.
func (r *reader) skip(op byte) {
	switch {
	case op == 0x0e: // br_table
		for range r.u() + 1 {
			r.skipNumber()
		}
	case op == 0x1c: // select with types
		r.take(r.u())
	case op == opCallIndirect, op >= 0x28 && op <= 0x3e: // memory accesses
		r.skipNumber()
		r.skipNumber()
	case op >= 0x02 && op <= 0x04, op == 0x0c, op == 0x0d, op >= 0x20 && op <= 0x26, op >= 0x3f && op <= 0x42, op == 0xd0, op == 0xd2:
		r.skipNumber()
	case op == 0x43:
		r.take(4)
	case op == 0x44:
		r.take(8)
	case op == 0xfc:
		r.skipBulk(r.u())
	case op > 0xc4:
		panic(fmt.Errorf("the instruction %#x", op))
	}
}

// skipBulk reads the immediates of conversions and of instructions on memory and tables.
func (r *reader) skipBulk(op uint64) {
	switch {
	case op <= 7:
	case op == 8, op == 10, op == 12, op == 14:
		r.skipNumber()
		r.skipNumber()
	default:
		r.skipNumber()
	}
}
