package wasmbin

import (
	"math"
)

// ManifestSection is the name of the custom section that holds a plugin's manifest.
const ManifestSection = "sallyport.manifest"

// CommandSection is the name of the custom section that holds the tool file of a WASI program, as JSON.
const CommandSection = "sallyport.command"

// SourceSection is the name of the custom section that says which package a module was built from, as JSON.
const SourceSection = "sallyport.source"

// ProducersSection is the name of the custom section in which tools record the language and the compiler.
const ProducersSection = "producers"

// PageSize is the unit of WebAssembly memory, in bytes.
const PageSize = 65536

// Unbounded is the Max of a Range without a maximum.
const Unbounded = math.MaxUint32

// Kind is the kind of an import or an export.
type Kind byte

// The kinds, with the values of the binary format.
const (
	Func   Kind = 0
	Table  Kind = 1
	Mem    Kind = 2
	Global Kind = 3
	Tag    Kind = 4
)

// String returns the kind in one word.
func (k Kind) String() string {
	switch k {
	case Func:
		return "function"
	case Table:
		return "table"
	case Mem:
		return "memory"
	case Global:
		return "global"
	case Tag:
		return "tag"
	}
	return "unknown"
}

// Import is an import of a module.
type Import struct {
	Module, Name string
	Kind         Kind
	// Params and Results are the value types of a function as the format encodes them, 0x7f for i32.
	Params, Results []byte
	// Type is the value type of a global or of a table's entries. Mutable applies to globals.
	Type    byte
	Mutable bool

	typ  uint32 // of a function
	size Range  // of a memory or a table
}

// Export is an export of a module.
type Export struct {
	Name            string
	Kind            Kind
	Index           uint32 // in the index space of its kind
	Params, Results []byte // as in Import
}

// Section is a custom section.
type Section struct {
	Name string
	Data []byte // a view into the file
}

// Range is the size of a memory in pages, or of a table in entries.
type Range struct {
	Min, Max uint32 // Max is Unbounded if absent
}

// Binary is the parsed head of a module. It holds a view of the whole file, so callers that keep many should copy the
// needed parts. It is immutable after Read, and safe for concurrent use. It has a method for
// each section that is read, and one for each question about the module.
type Binary struct {
	Imports []Import
	Exports []Export
	Custom  []Section
	Memory  *Range // the module's own memory, or nil
	Tables  []Range
	Funcs   int  // number of functions defined
	Start   bool // a start function runs when the module is instantiated

	wasm       []byte
	sections   []section // all sections, in file order
	types      []funcType
	funcs      []uint32 // type index of every function, imported ones first
	imported   int      // number of imports in funcs
	tables     int      // number of imports in Tables
	tableTypes []byte
	tags       []uint32 // type index of every tag
	unwinds    bool     // see Unwinds
	start      uint32   // the start function
	dataCount  int64    // -1 without a data count section
}

// section is the position of a section in the file.
type section struct {
	id    byte
	begin int // of its id byte
	body  int // of its content
	end   int
}

// RawSection is the encoded content of a section.
type RawSection struct {
	ID     byte
	Offset int    // of its content in the file
	Data   []byte // a view of its content
}

// Sections returns all sections in file order.
func (b *Binary) Sections() []RawSection {
	out := make([]RawSection, len(b.sections))
	for i, s := range b.sections {
		out[i] = RawSection{s.id, s.body, b.wasm[s.body:s.end]}
	}
	return out
}

// Types returns the number of function types.
func (b *Binary) Types() int { return len(b.types) }

// Signature returns the parameters and results of a type, or false if there is no such type.
func (b *Binary) Signature(typ uint32) (params, results []byte, ok bool) {
	if uint64(typ) >= uint64(len(b.types)) {
		return nil, nil, false
	}
	t := b.types[typ]
	return t.params, t.results, true
}

// ImportedFuncs returns the number of imported functions, which is the index of the first defined one.
func (b *Binary) ImportedFuncs() int { return b.imported }

// FuncType returns the type of a function by its index, or false if there is no such function.
func (b *Binary) FuncType(fn uint32) (typ uint32, ok bool) {
	if uint64(fn) >= uint64(len(b.funcs)) {
		return 0, false
	}
	return b.funcs[fn], true
}

// Tags returns the type of each tag.
func (b *Binary) Tags() []uint32 { return b.tags }

// Unwinds reports whether the module has tags, exception references or instructions of exceptions. Read finds the first
// two, and Check all of them.
func (b *Binary) Unwinds() bool { return b.unwinds }

type funcType struct{ params, results []byte }

// Size returns the length of the file in bytes.
func (b *Binary) Size() int { return len(b.wasm) }

// HasExport reports whether the module exports a function of this name.
func (b *Binary) HasExport(name string) bool {
	_, ok := b.Export(name)
	return ok
}

// Export returns the exported function of this name.
func (b *Binary) Export(name string) (Export, bool) {
	for _, e := range b.Exports {
		if e.Name == name && e.Kind == Func {
			return e, true
		}
	}
	return Export{}, false
}

// ImportsModule reports whether the module has an import from the module of this name.
func (b *Binary) ImportsModule(name string) bool {
	for _, i := range b.Imports {
		if i.Module == name {
			return true
		}
	}
	return false
}

// CustomSection returns a view of the first custom section of this name.
func (b *Binary) CustomSection(name string) ([]byte, bool) {
	for _, s := range b.Custom {
		if s.Name == name {
			return s.Data, true
		}
	}
	return nil, false
}
