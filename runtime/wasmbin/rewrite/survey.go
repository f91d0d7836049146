package rewrite

import (
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// survey knows the index spaces of the checked module and their counterparts in the rewritten one. err is the first
// error of the rewriting.
type survey struct {
	o   Options
	b   *wasmbin.Checked
	err error

	imported []wasmbin.Import // imported globals, the first in their index space
	globals  []global         // defined ones
	hasMem   bool
	start    int64 // the start function, or -1
}

// global is a global that the module defines.
type global struct {
	typ     byte
	mutable bool
}

// note records the first error.
func (s *survey) note(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *survey) malformed(format string, args ...any) {
	s.note(fmt.Errorf("%w: %s", wasmbin.ErrMalformed, fmt.Sprintf(format, args...)))
}

func (s *survey) unsupported(format string, args ...any) {
	s.note(fmt.Errorf("%w: %s", wasmbin.ErrUnsupported, fmt.Sprintf(format, args...)))
}

// ends records a decoder's error, or that bytes are left.
func (s *survey) ends(d *wasmbin.Decoder) {
	s.note(d.Err())
	if s.err == nil && !d.Done() {
		s.malformed("a section has bytes too many at offset %d", d.Offset())
	}
}

// reserved rejects modules that use reserved names.
func (s *survey) reserved() error {
	for _, i := range s.b.Imports {
		if strings.HasPrefix(i.Module, prefix) {
			return fmt.Errorf("%w: the module imports %q from %q", ErrReserved, i.Name, i.Module)
		}
	}
	for _, e := range s.b.Exports {
		if strings.HasPrefix(e.Name, prefix) {
			return fmt.Errorf("%w: the module exports %q", ErrReserved, e.Name)
		}
	}
	return nil
}

// read reads the globals, the start function and the presence of a memory, which determine the additions.
func (s *survey) read() {
	s.hasMem = s.b.Memory != nil
	for _, i := range s.b.Imports {
		switch i.Kind {
		case wasmbin.Global:
			s.imported = append(s.imported, i)
		case wasmbin.Mem:
			s.hasMem = true
		}
	}
	for _, section := range s.b.Sections() {
		d := wasmbin.NewDecoder(section.Data, section.Offset, "a section")
		switch section.ID {
		case wasmbin.SectionGlobal:
			s.readGlobals(d)
		case wasmbin.SectionStart:
			s.readStart(d)
		}
		s.note(d.Err())
	}
}

func (s *survey) readGlobals(d *wasmbin.Decoder) {
	for n := d.Count(4); n > 0 && d.Err() == nil && s.err == nil; n-- {
		g := global{typ: d.ValueType(), mutable: d.Bool()}
		s.constant(d, nil, s.shift)
		s.globals = append(s.globals, g)
	}
}

func (s *survey) readStart(d *wasmbin.Decoder) {
	fn := d.U32()
	typ, ok := s.b.FuncType(fn)
	params, results, _ := s.b.Signature(typ)
	if !ok || len(params)+len(results) > 0 {
		s.malformed("the start function, %d, does not exist or takes or returns something", fn)
	}
	s.start = int64(fn)
	s.ends(d)
}

// constant reads a constant expression and appends it, with the function indices that refer returns.
func (s *survey) constant(d *wasmbin.Decoder, out []byte, refer func(fn uint32) uint32) []byte {
	var in wasmbin.Instruction
	if !d.Constant(&in) {
		s.note(d.Err())
		return out
	}
	switch in.Op {
	case opRefFunc:
		in.X = refer(in.X)
	case opGlobalGet:
		s.knownGlobal(in.X)
	}
	return append(in.Append(out), opEnd)
}

// shift returns the index of a function after the rewriting. An index past the end is an error, since it could become
// that of an added function.
func (s *survey) shift(fn uint32) uint32 {
	if _, ok := s.b.FuncType(fn); !ok {
		s.malformed("function %d is named but does not exist", fn)
	}
	if s.o.Meter && int64(fn) >= int64(s.b.ImportedFuncs()) {
		return fn + 1
	}
	return fn
}

// nGlobals returns the number of globals, including imported ones.
func (s *survey) nGlobals() uint32 { return uint32(len(s.imported) + len(s.globals)) }

// fuel and depth return the indices of the counters.
func (s *survey) fuel() uint32  { return s.nGlobals() }
func (s *survey) depth() uint32 { return s.nGlobals() + 1 }

// refill returns the index of the refill function: the last imported one.
func (s *survey) refill() uint32 { return uint32(s.b.ImportedFuncs()) }

// refTable returns the index of the table of references: the last one.
func (s *survey) refTable() uint32 { return uint32(len(s.b.Tables)) }

func (s *survey) knownType(typ uint32) {
	if uint64(typ) >= uint64(s.b.Types()) {
		s.malformed("type %d of %d is named", typ, s.b.Types())
	}
}

func (s *survey) knownGlobal(g uint32) {
	if g >= s.nGlobals() {
		s.malformed("global %d of %d is named", g, s.nGlobals())
	}
}

// offsetGlobal returns the imported global that holds the offset of a data segment.
func (s *survey) offsetGlobal(index uint32) *wasmbin.Import {
	if uint64(index) >= uint64(len(s.imported)) {
		s.malformed("the offset of a data segment is global %d, which is not imported", index)
		return nil
	}
	g := &s.imported[index]
	if g.Mutable || g.Type != typeI32 {
		s.malformed("the offset of a data segment is global %d, which is not a constant of type i32", index)
	}
	return g
}

// cheap reports whether callers pay for the straight part of a defined function, and returns its cost.
func (s *survey) cheap(i int) (cost int64, ok bool) {
	n, ok := s.b.Leaf(i)
	return n + 1, ok && n+1 <= int64(s.o.Leaf)
}
