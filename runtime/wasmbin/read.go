package wasmbin

import (
	"bytes"
	"fmt"
)

// The section ids of the binary format.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
	sectionTag       = 13
)

// Entries of these kinds become Go values many times their size in the file, so Read bounds them
// itself. The largest real modules have hundreds.
const (
	maxSections = 10_000
	maxImports  = 10_000
	maxExports  = 100_000
)

const (
	header        = "\x00asm\x01\x00\x00\x00"
	headComponent = "\x00asm\x0d\x00\x01\x00"
	magic         = "\x00asm"
)

// Read reads the head of a module. The result holds views into wasm, which must not change.
func Read(wasm []byte) (*Binary, error) {
	if err := checkHeader(wasm); err != nil {
		return nil, err
	}
	b := &Binary{wasm: wasm}
	if err := b.split(); err != nil {
		return nil, err
	}
	for i := range b.sections {
		if err := b.section(&b.sections[i]); err != nil {
			return nil, err
		}
	}
	return b, b.resolveExports()
}

func checkHeader(wasm []byte) error {
	switch {
	case len(wasm) == 0:
		return fmt.Errorf("%w: the file is empty", ErrNotWasm)
	case bytes.HasPrefix(wasm, []byte(header)):
		return nil
	case bytes.HasPrefix(wasm, []byte(headComponent)):
		return ErrComponent
	case len(wasm) < len(header) && bytes.HasPrefix([]byte(header), wasm):
		return fmt.Errorf("%w: the header ends at offset %d", ErrTruncated, len(wasm))
	case bytes.HasPrefix(wasm, []byte(magic)):
		return fmt.Errorf("%w: the version is % x", ErrVersion, wasm[4:min(len(wasm), 8)])
	}
	return fmt.Errorf("%w: starts with % x", ErrNotWasm, wasm[:min(len(wasm), 4)])
}

// split finds where each section lies.
func (b *Binary) split() error {
	r := reader{b: b.wasm, pos: len(header), what: "the list of sections"}
	for last := 0; !r.done(); {
		s := section{begin: r.pos}
		s.id = r.u8()
		size := r.u32()
		s.body = r.pos
		if r.err == nil && uint64(size) > uint64(r.rest()) {
			r.fail(ErrTruncated, "%s at offset %d says %d bytes but %d are left", sectionName(s.id), s.begin, size, r.rest())
		}
		r.bytes(size)
		s.end = r.pos
		rank := sectionRank(s.id)
		if s.id != sectionCustom && rank <= last {
			r.fail(ErrMalformed, "%s at offset %d is unknown, doubled or out of order", sectionName(s.id), s.begin)
		}
		last = max(last, rank)
		b.sections = append(b.sections, s)
		if len(b.sections) > maxSections {
			r.fail(ErrLimit, "more than %d sections", maxSections)
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// sectionRank is the place of a section in the order that the format prescribes; 0 is none.
func sectionRank(id byte) int {
	return bytes.IndexByte([]byte{sectionCustom, sectionType, sectionImport, sectionFunction, sectionTable,
		sectionMemory, sectionTag, sectionGlobal, sectionExport, sectionStart, sectionElement,
		sectionDataCount, sectionCode, sectionData}, id)
}

func sectionName(id byte) string {
	names := [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export",
		"start", "element", "code", "data", "data count", "tag"}
	if int(id) < len(names) {
		return "the " + names[id] + " section"
	}
	return fmt.Sprintf("the section with id %d", id)
}

// reader returns a reader of the section's content.
func (b *Binary) reader(s *section) *reader {
	return &reader{b: b.wasm[s.body:s.end], base: s.body, what: sectionName(s.id)}
}

func (b *Binary) section(s *section) error {
	r := b.reader(s)
	switch s.id {
	case sectionCustom:
		name := r.name()
		b.Custom = append(b.Custom, Section{name, r.b[r.pos:]})
		return r.err
	case sectionType:
		b.readTypes(r)
	case sectionImport:
		b.readImports(r)
	case sectionFunction:
		b.readFunctions(r)
	case sectionTable:
		b.readTables(r)
	case sectionMemory:
		b.readMemories(r)
	case sectionExport:
		b.readExports(r)
	case sectionStart:
		b.Start = true
		r.u32()
	case sectionDataCount:
		r.u32()
	case sectionTag:
		r.fail(ErrUnsupported, "exceptions (a tag section at offset %d)", s.begin)
	case sectionCode:
		b.code = s
		return r.err
	default: // read by Check, or by nobody here
		return r.err
	}
	if r.err == nil && r.rest() > 0 {
		r.fail(ErrMalformed, "%s has %d bytes too many at offset %d", r.what, r.rest(), r.offset())
	}
	return r.err
}

func (b *Binary) readTypes(r *reader) {
	// The copy is small, and keeps the types of imports and exports from keeping the file.
	r.b = bytes.Clone(r.b)
	n := r.count(3)
	b.types = make([]funcType, 0, n)
	for range n {
		at := r.offset()
		if form := r.u8(); form != 0x60 {
			r.fail(ErrUnsupported, "a type of form %#x at offset %d", form, at)
		}
		params := readValueTypes(r)
		b.types = append(b.types, funcType{params, readValueTypes(r)})
		if r.err != nil {
			return
		}
	}
}

func readValueTypes(r *reader) []byte {
	v := r.bytes(r.u32())
	for i, t := range v {
		checkValueType(r, t, r.offset()-len(v)+i)
	}
	return v
}

// checkValueType refuses what is not a number, a vector or one of the two plain references.
func checkValueType(r *reader, t byte, at int) {
	if r.err == nil && (t < 0x7b || t > 0x7f) && t != 0x70 && t != 0x6f {
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
		t := r.u32()
		m.Params, m.Results = b.typeAt(r, t)
		b.funcs = append(b.funcs, t)
	case Table:
		b.Tables = append(b.Tables, readTable(r))
	case Mem:
		readMemory(r)
	case Global:
		m.Type = r.u8()
		checkValueType(r, m.Type, at)
		m.Mutable = r.u8() == 1
	case Tag:
		r.fail(ErrUnsupported, "exceptions (the imported tag %s.%s at offset %d)", m.Module, m.Name, at)
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
		b.Tables = append(b.Tables, readTable(r))
	}
}

func readTable(r *reader) Range {
	if t := r.u8(); r.err == nil && t != 0x70 && t != 0x6f {
		r.fail(ErrUnsupported, "a table of type %#x at offset %d", t, r.offset()-1)
	}
	return readRange(r)
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

// maxPages is the end of a 32-bit address space.
const maxPages = 65536

func readMemory(r *reader) Range {
	at := r.offset()
	m := readRange(r)
	if m.Min > maxPages || (m.Max != Unbounded && (m.Max > maxPages || m.Max < m.Min)) {
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
		b.Exports = append(b.Exports, Export{Name: r.name(), Kind: Kind(r.u8()), Index: r.u32()})
	}
}

// resolveExports gives exported functions their types.
func (b *Binary) resolveExports() error {
	for i := range b.Exports {
		e := &b.Exports[i]
		if e.Kind != Func {
			continue
		}
		if uint64(e.Index) >= uint64(len(b.funcs)) {
			return fmt.Errorf("%w: the export %q names function %d of %d", ErrMalformed, e.Name, e.Index, len(b.funcs))
		}
		t := b.types[b.funcs[e.Index]]
		e.Params, e.Results = t.params, t.results
	}
	return nil
}
