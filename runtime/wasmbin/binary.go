package wasmbin

import (
	"math"
)

// ManifestSection is the name of the custom section in which a plugin describes itself.
const ManifestSection = "sallyport.manifest"

// PageSize is the unit of WebAssembly memory, in bytes.
const PageSize = 65536

// Unbounded is the Max of a Range that has none.
const Unbounded = math.MaxUint32

// Kind is what an import or an export is.
type Kind byte

// The kinds, as the binary format numbers them.
const (
	Func   Kind = 0
	Table  Kind = 1
	Mem    Kind = 2
	Global Kind = 3
	Tag    Kind = 4
)

// String names the kind in one word.
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

// Import is one thing that a module needs from its host.
type Import struct {
	Module, Name string
	Kind         Kind
	// Params and Results are the value types of a function as the format encodes them, 0x7f for i32.
	Params, Results []byte
	// Type is the value type of a global or of a table's entries, and Mutable says that a global can change.
	Type    byte
	Mutable bool

	typ  uint32 // of a function
	size Range  // of a memory or a table
}

// Export is one thing that a module offers to its host.
type Export struct {
	Name            string
	Kind            Kind
	Index           uint32 // in the index space of its kind
	Params, Results []byte // as in Import
}

// Section is one custom section.
type Section struct {
	Name string
	Data []byte // a view into the file
}

// Range is the size of a memory in pages, or of a table in entries.
type Range struct {
	Min, Max uint32 // Max is Unbounded if there is none
}

// Binary is what Read found in a file. It keeps a view of the whole file, so whoever keeps many
// should keep what they need of it instead. It is never changed after Read, and safe for
// concurrent use.
type Binary struct {
	Imports []Import
	Exports []Export
	Custom  []Section
	Memory  *Range // the module's own memory, nil if it has none
	Tables  []Range
	Funcs   int  // functions that the module defines
	Start   bool // a start section runs code when the module is instantiated

	wasm       []byte
	sections   []section // all of them, in file order
	types      []funcType
	funcs      []uint32 // type index of every function, imported ones first
	imported   int      // how many of funcs are imports
	tables     int      // how many of Tables are imports
	tableTypes []byte
	start      uint32 // the start function
	dataCount  int64  // -1 if it is not announced
}

// section is where one section lies in the file.
type section struct {
	id    byte
	begin int // of its id byte
	body  int // of its content
	end   int
}

// RawSection is a section as it is in the file.
type RawSection struct {
	ID     byte
	Offset int    // of its content in the file
	Data   []byte // a view of its content
}

// Sections returns all sections in the order of the file.
func (b *Binary) Sections() []RawSection {
	out := make([]RawSection, len(b.sections))
	for i, s := range b.sections {
		out[i] = RawSection{s.id, s.body, b.wasm[s.body:s.end]}
	}
	return out
}

// Types is how many function types the module has.
func (b *Binary) Types() int { return len(b.types) }

// Signature returns the parameters and results of a type, or false if there is no such type.
func (b *Binary) Signature(typ uint32) (params, results []byte, ok bool) {
	if uint64(typ) >= uint64(len(b.types)) {
		return nil, nil, false
	}
	t := b.types[typ]
	return t.params, t.results, true
}

// ImportedFuncs is how many functions are imported: the numbers of the others begin there.
func (b *Binary) ImportedFuncs() int { return b.imported }

// FuncType returns the type of a function by its number, or false if there is no such function.
func (b *Binary) FuncType(fn uint32) (typ uint32, ok bool) {
	if uint64(fn) >= uint64(len(b.funcs)) {
		return 0, false
	}
	return b.funcs[fn], true
}

type funcType struct{ params, results []byte }

// Size is the length of the file in bytes.
func (b *Binary) Size() int { return len(b.wasm) }

// HasExport tells whether the module exports a function of this name.
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

// ImportsModule tells whether anything is imported from the module of this name.
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
