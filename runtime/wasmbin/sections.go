package wasmbin

import (
	"bytes"
	"fmt"
)

func (b *Binary) section(s *section) error {
	r := b.reader(s)
	switch s.id {
	case SectionCustom:
		name := r.name()
		b.Custom = append(b.Custom, Section{name, r.b[r.pos:]})
		return r.err
	case SectionType:
		b.readTypes(r)
	case SectionImport:
		b.readImports(r)
	case SectionFunction:
		b.readFunctions(r)
	case SectionTable:
		b.readTables(r)
	case SectionMemory:
		b.readMemories(r)
	case SectionExport:
		b.readExports(r)
	case SectionStart:
		b.Start, b.start = true, r.u32()
	case SectionDataCount:
		b.dataCount = int64(r.u32())
	case SectionTag:
		b.readTags(r)
	default: // read by Check, or not used
		return r.err
	}
	if r.err == nil && r.rest() > 0 {
		r.fail(ErrMalformed, "%s has %d bytes too many at offset %d", r.what, r.rest(), r.offset())
	}
	return r.err
}

func (b *Binary) readTypes(r *reader) {
	// The copy is small, and keeps import and export types from retaining the file.
	r.b = bytes.Clone(r.b)
	n := r.count(3)
	b.types = make([]funcType, 0, n)
	for range n {
		at := r.offset()
		if form := r.u8(); form != 0x60 {
			r.fail(ErrUnsupported, "a type of form %#x at offset %d", form, at)
		}
		params := b.readValueTypes(r)
		b.types = append(b.types, funcType{params, b.readValueTypes(r)})
		if r.err != nil {
			return
		}
	}
}

func (b *Binary) readValueTypes(r *reader) []byte {
	v := r.bytes(r.u32())
	for i, t := range v {
		checkValueType(r, t, r.offset()-len(v)+i)
		b.unwinds = b.unwinds || t == ExnRef
	}
	return v
}

// ExnRef is the type of exception references.
const ExnRef = 0x69

// checkValueType rejects types other than numbers, v128, funcref, externref and exnref.
func checkValueType(r *reader, t byte, at int) {
	if r.err == nil && (t < 0x7b || t > 0x7f) && t != 0x70 && t != 0x6f && t != ExnRef {
		r.fail(ErrUnsupported, "a value of type %#x at offset %d", t, at)
	}
}

func (b *Binary) readImports(r *reader) {
	n := r.count(4)
	if n > maxImports {
		r.fail(ErrLimit, "%d imports, at most %d are allowed", n, maxImports)
	}
	for i := 0; i < n && r.err == nil; i++ {
		b.Imports = append(b.Imports, b.readImport(r))
	}
	b.imported = len(b.funcs)
	b.tables = len(b.Tables)
}

func (b *Binary) readImport(r *reader) Import {
	m := Import{Module: r.name(), Name: r.name(), Kind: Kind(r.u8())}
	at := r.offset()
	switch m.Kind {
	case Func:
		m.typ = r.u32()
		m.Params, m.Results = b.typeAt(r, m.typ)
		b.funcs = append(b.funcs, m.typ)
	case Table:
		m.Type, m.size = b.readTable(r)
	case Mem:
		m.size = readMemory(r)
	case Global:
		if m.Type = r.valueType(); m.Type == ExnRef {
			r.fail(ErrUnsupported, "the imported exception reference %.100s.%.100s at offset %d", m.Module, m.Name, at)
		}
		m.Mutable = r.bool()
	case Tag:
		r.fail(ErrUnsupported, "the imported tag %.100s.%.100s at offset %d", m.Module, m.Name, at)
	default:
		r.fail(ErrMalformed, "an import of kind %d at offset %d", m.Kind, at-1)
	}
	return m
}

// typeAt returns the parameters and results of a type.
func (b *Binary) typeAt(r *reader, index uint32) (params, results []byte) {
	if uint64(index) >= uint64(len(b.types)) {
		r.fail(ErrMalformed, "%s names type %d of %d before offset %d", r.what, index, len(b.types), r.offset())
		return nil, nil
	}
	t := b.types[index]
	return t.params, t.results
}

func (b *Binary) readFunctions(r *reader) {
	b.Funcs = r.count(1)
	all := make([]uint32, len(b.funcs), len(b.funcs)+b.Funcs)
	copy(all, b.funcs)
	b.funcs = all
	for i := 0; i < b.Funcs && r.err == nil; i++ {
		t := r.u32()
		b.typeAt(r, t)
		b.funcs = append(b.funcs, t)
	}
}

func (b *Binary) readTables(r *reader) {
	for n := r.count(3); n > 0 && r.err == nil; n-- {
		b.readTable(r)
	}
}

func (b *Binary) readTable(r *reader) (typ byte, size Range) {
	if typ = r.u8(); r.err == nil && typ != 0x70 && typ != 0x6f {
		r.fail(ErrUnsupported, "a table of type %#x at offset %d", typ, r.offset()-1)
	}
	size = readRange(r)
	b.Tables, b.tableTypes = append(b.Tables, size), append(b.tableTypes, typ)
	return typ, size
}

func (b *Binary) readMemories(r *reader) {
	n := r.count(2)
	if n > 1 {
		r.fail(ErrUnsupported, "%d memories, only one is allowed", n)
	}
	for ; n > 0 && r.err == nil; n-- {
		m := readMemory(r)
		b.Memory = &m
	}
}

// readTags reads the tag section: for each tag an attribute, 0 for an exception, and a type without results.
func (b *Binary) readTags(r *reader) {
	b.unwinds = true
	n := r.count(2)
	if n > maxTags {
		r.fail(ErrLimit, "%d tags, at most %d are allowed", n, maxTags)
	}
	for i := 0; i < n && r.err == nil; i++ {
		r.zero()
		typ := r.u32()
		if _, results := b.typeAt(r, typ); len(results) > 0 {
			r.fail(ErrMalformed, "tag %d has a type with results before offset %d", i, r.offset())
		}
		b.tags = append(b.tags, typ)
	}
}

// maxPages is the size of a 32-bit address space in pages.
const maxPages = 65536

func readMemory(r *reader) Range {
	at := r.offset()
	bounded := r.peek() != 0
	m := readRange(r)
	if m.Min > maxPages || bounded && (m.Max > maxPages || m.Max < m.Min) {
		r.fail(ErrMalformed, "a memory of %d to %d pages at offset %d", m.Min, m.Max, at)
	}
	return m
}

func readRange(r *reader) Range {
	at := r.offset()
	switch flag := r.u8(); flag {
	case 0:
		return Range{Min: r.u32(), Max: Unbounded}
	case 1:
		return Range{Min: r.u32(), Max: r.u32()}
	default:
		r.fail(ErrUnsupported, "shared or 64-bit memory (limits flag %#x at offset %d)", flag, at)
		return Range{}
	}
}

func (b *Binary) readExports(r *reader) {
	n := r.count(3)
	if n > maxExports {
		r.fail(ErrLimit, "%d exports, at most %d are allowed", n, maxExports)
	}
	for i := 0; i < n && r.err == nil; i++ {
		e := Export{Name: r.name(), Kind: Kind(r.u8()), Index: r.u32()}
		if e.Kind > Tag {
			r.fail(ErrUnsupported, "an export of kind %d before offset %d", e.Kind, r.offset())
		}
		b.Exports = append(b.Exports, e)
	}
}

// resolveExports sets the types of exported functions.
func (b *Binary) resolveExports() error {
	for i := range b.Exports {
		e := &b.Exports[i]
		if e.Kind == Tag && uint64(e.Index) >= uint64(len(b.tags)) {
			return fmt.Errorf("%w: the export %.100q names tag %d of %d", ErrMalformed, e.Name, e.Index, len(b.tags))
		}
		if e.Kind != Func {
			continue
		}
		if uint64(e.Index) >= uint64(len(b.funcs)) {
			return fmt.Errorf("%w: the export %.100q names function %d of %d", ErrMalformed, e.Name, e.Index, len(b.funcs))
		}
		t := b.types[b.funcs[e.Index]]
		e.Params, e.Results = t.params, t.results
	}
	return nil
}
