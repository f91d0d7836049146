// Package wasmtest assembles small WebAssembly modules for tests, instruction by instruction:
//
//	var m wasmtest.Module
//	read := m.Import("sallyport", "read", []byte{wasmtest.I32, wasmtest.I32, wasmtest.I32}, []byte{wasmtest.I32})
//	m.Memory(1, 1)
//	f := m.Func([]byte{wasmtest.I32}, []byte{wasmtest.I32}, nil,
//		wasmtest.I32Const(0), wasmtest.I32Const(0), wasmtest.LocalGet(0), wasmtest.Call(read), wasmtest.Drop,
//		wasmtest.I32Const(0))
//	m.Export("mcp_handle", f)
//	wasm := m.Bytes()
//
// It does not validate, since tests also need invalid modules. It is for tests and measurements only.
package wasmtest

import "encoding/binary"

// The value types.
const (
	I32       = 0x7f
	I64       = 0x7e
	F32       = 0x7d
	F64       = 0x7c
	V128      = 0x7b
	FuncRef   = 0x70
	ExternRef = 0x6f
	ExnRef    = 0x69
)

// None means no maximum, for a memory or a table.
const None = -1

// Module is a module under construction. The zero value is an empty module. Imports must be added before functions, in
// the order of their indices.
type Module struct {
	types, imports, funcs, tables, memories, tags, globals, exports, elements, code, data vector
	start                                                                                 []byte
	custom                                                                                []byte
	counted                                                                               bool
	imported, defined                                                                     uint32
}

// vector is a sequence of encoded entries.
type vector struct {
	n uint32
	b []byte
}

func (v *vector) add(parts ...[]byte) uint32 {
	for _, p := range parts {
		v.b = append(v.b, p...)
	}
	v.n++
	return v.n - 1
}

// U32 encodes an unsigned LEB128 number.
func U32(n uint32) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// S64 encodes a signed LEB128 number.
func S64(n int64) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if (n == 0 && c&0x40 == 0) || (n == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// Bytes encodes a byte vector: its length and the bytes.
func Bytes(p []byte) []byte { return append(U32(uint32(len(p))), p...) }

// Name encodes a string.
func Name(s string) []byte { return Bytes([]byte(s)) }

func limits(min, max int) []byte {
	if max < 0 {
		return append([]byte{0}, U32(uint32(min))...)
	}
	return append(append([]byte{1}, U32(uint32(min))...), U32(uint32(max))...)
}

// Type adds a function type and returns its index.
func (m *Module) Type(params, results []byte) uint32 {
	return m.types.add([]byte{0x60}, Bytes(params), Bytes(results))
}

// Import imports a function and returns its index.
func (m *Module) Import(module, name string, params, results []byte) uint32 {
	m.imports.add(Name(module), Name(name), []byte{0}, U32(m.Type(params, results)))
	m.imported++
	return m.imported - 1
}

// ImportRaw adds an import of any kind: desc is the kind and its description.
func (m *Module) ImportRaw(module, name string, desc ...byte) {
	m.imports.add(Name(module), Name(name), desc)
}

// Func defines a function and returns its index. locals are the types of its locals; Func appends the final end.
func (m *Module) Func(params, results, locals []byte, code ...[]byte) uint32 {
	var body vector
	for _, l := range locals {
		body.add([]byte{1, l})
	}
	return m.FuncRaw(m.Type(params, results), append(U32(body.n), body.b...), append(code, []byte{0x0b})...)
}

// FuncRaw defines a function of a type from the encoded locals and code.
func (m *Module) FuncRaw(typ uint32, locals []byte, code ...[]byte) uint32 {
	m.funcs.add(U32(typ))
	m.code.add(Bytes(append(locals, Code(code...)...)))
	m.defined++
	return m.imported + m.defined - 1
}

// Table adds a table of function references.
func (m *Module) Table(min, max int) { m.tables.add([]byte{FuncRef}, limits(min, max)) }

// Memory adds a memory; sizes are in pages.
func (m *Module) Memory(min, max int) { m.memories.add(limits(min, max)) }

// Global adds a mutable global of type i32 or i64 and returns its index among the defined ones.
func (m *Module) Global(typ byte, value int64) uint32 {
	op := byte(0x41)
	if typ == I64 {
		op = 0x42
	}
	return m.globals.add([]byte{typ, 1, op}, S64(value), []byte{0x0b})
}

// GlobalRaw adds a global of any type: its type, mutability, and initial value without the final end.
func (m *Module) GlobalRaw(typ, mutable byte, value ...[]byte) uint32 {
	return m.globals.add([]byte{typ, mutable}, Code(value...), []byte{0x0b})
}

// Export exports a function.
func (m *Module) Export(name string, fn uint32) { m.ExportRaw(name, 0, fn) }

// ExportRaw adds an export of any kind by index.
func (m *Module) ExportRaw(name string, kind byte, index uint32) {
	m.exports.add(Name(name), []byte{kind}, U32(index))
}

// Start sets the start function.
func (m *Module) Start(fn uint32) { m.start = U32(fn) }

// Elements adds an active element segment for table 0.
func (m *Module) Elements(offset int, fns ...uint32) {
	var v vector
	for _, f := range fns {
		v.add(U32(f))
	}
	m.elements.add([]byte{0}, I32Const(int32(offset)), []byte{0x0b}, U32(v.n), v.b)
}

// Data adds an active data segment.
func (m *Module) Data(offset int, p []byte) {
	m.data.add([]byte{0}, I32Const(int32(offset)), []byte{0x0b}, Bytes(p))
}

// ElementsRaw adds an element segment: its flags and its contents.
func (m *Module) ElementsRaw(segment ...byte) { m.elements.add(segment) }

// PassiveData adds a passive data segment and returns its index. It also adds the data count section.
func (m *Module) PassiveData(p []byte) uint32 {
	m.counted = true
	return m.data.add([]byte{1}, Bytes(p))
}

// Custom adds a custom section at the end.
func (m *Module) Custom(name string, data []byte) {
	m.custom = append(m.custom, Section(0, append(Name(name), data...))...)
}

// Section encodes a section.
func Section(id byte, content []byte) []byte { return append([]byte{id}, Bytes(content)...) }

// Header is the magic number and version of a module.
const Header = "\x00asm\x01\x00\x00\x00"

// Bytes returns the module's binary.
func (m *Module) Bytes() []byte {
	out := []byte(Header)
	for id, v := range []*vector{nil, &m.types, &m.imports, &m.funcs, &m.tables, &m.memories, &m.globals,
		&m.exports, nil, &m.elements, &m.code, &m.data} {
		if id == 6 && m.tags.n > 0 {
			out = append(out, Section(13, append(U32(m.tags.n), m.tags.b...))...)
		}
		if id == 8 && m.start != nil {
			out = append(out, Section(8, m.start)...)
		}
		if id == 10 && m.counted {
			out = append(out, Section(12, U32(m.data.n))...)
		}
		if v != nil && v.n > 0 {
			out = append(out, Section(byte(id), append(U32(v.n), v.b...))...)
		}
	}
	return append(out, m.custom...)
}
