package rewrite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Names that are added to modules. A module that uses Prefix in its own imports or exports is rejected.
const (
	Prefix       = "sallyport:"
	Module       = Prefix + "engine" // the import module of the refill function
	RefillImport = "refill"
	FuelGlobal   = Prefix + "fuel"
	DepthGlobal  = Prefix + "depth"
	StartExport  = Prefix + "start"
)

// ErrReserved means that a module has an import from a module, or an export, whose name begins with Prefix.
var ErrReserved = errors.New("reserved name")

// Options selects the changes of Rewrite.
type Options struct {
	Meter    bool
	Snapshot bool
	// Depth is the initial value of DepthGlobal. A call costs 1, and 1 more for every 16 locals, every 1,024
	// instructions and every 64 vector instructions of the called function; zero means 65,536, which is about 10 MB of
	// stack.
	Depth int64
	// Leaf is the maximum number of instructions of a function without calls that is not metered itself; zero means
	// 200.
	Leaf int
}

// Info describes a rewritten module for the host. It holds views of the module.
type Info struct {
	Globals []Global // the state to snapshot, without the counters
	Data    []Data   // to be copied into the memory, in this order, before Start
	Start   string   // export to be called after that, or ""
	Uses    Uses
	Checks  int // number of fuel checks
}

// Global is a mutable global that the module defines.
type Global struct {
	Type byte // as the binary format encodes it, 0x7f for i32
	// Export is the exported global. A global of type v128 has instead the exported functions Get () -> (i64, i64) and
	// Set (i64, i64) -> (), with the lower half first.
	Export, Get, Set string
}

// Data is an active data segment.
type Data struct {
	Offset uint32
	// From is the imported immutable i32 global that holds the offset in place of Offset, or nil.
	From  *wasmbin.Import
	Bytes []byte
}

// Uses reports instructions in the code that change state outside of memory and globals.
type Uses struct {
	TableWrite bool // table.set, grow, fill, copy or init
	ElemDrop   bool
	DataDrop   bool
	MemoryInit bool // no effect on that state by itself
	MemoryGrow bool
}

// References reports whether an instance has state beside its memory and numeric globals: references that change, or
// segments that can be dropped. Imports do not count.
func (i *Info) References() bool {
	return i.Uses.TableWrite || i.Uses.ElemDrop || i.Uses.DataDrop || slices.ContainsFunc(i.Globals, Global.Reference)
}

// Reference reports whether the global is of a reference type.
func (g Global) Reference() bool { return g.Type < typeV128 }

// Rewrite returns the module with the selected changes. The errors are those of package wasmbin, and ErrReserved;
// their offsets refer to the checked module.
func Rewrite(m *wasmbin.Checked, o Options) ([]byte, *Info, error) {
	o.Depth = cmp.Or(o.Depth, 1<<16)
	o.Leaf = cmp.Or(o.Leaf, 200)
	w := &rewriter{o: o, b: m, info: &Info{}, declared: make(map[uint32]bool), taken: make(map[uint32]uint32)}
	if err := w.reserved(); err != nil {
		return nil, nil, err
	}
	w.survey()
	if w.err != nil {
		return nil, nil, w.err
	}
	out := w.write(len(m.Wasm()))
	if w.err != nil {
		return nil, nil, w.err
	}
	return out, w.info, nil
}

// rewriter is the state of rewriting one module. err is the first error.
type rewriter struct {
	o    Options
	b    *wasmbin.Checked
	info *Info
	err  error

	imported struct{ globals []wasmbin.Import } // in the index space of globals
	globals  []global                           // defined ones
	hasMem   bool

	start int64 // the start function, or -1
	// References that the code takes come from an added table with one entry for each function: the engine would
	// allocate a new one each time, and keep it as long as the instance.
	taken    map[uint32]uint32 // the entry of each function
	order    []uint32          // the functions of the entries, by their old indices
	declared map[uint32]bool   // functions also referenced outside of code, as validation requires

	events      []event // of the current function
	costs       []int64 // of its straight parts
	open        []block // buffer for its open blocks
	in          wasmbin.Instruction
	blockTypes  map[string]uint32
	extraTypes  []byte // encoded types to add
	nExtraTypes uint32
	getSet      []accessor
}

// global is a global that the module defines.
type global struct {
	typ     byte
	mutable bool
}

// accessor is a function that reads or writes a v128 global.
type accessor struct {
	typ  uint32
	body []byte
	name string
}

// note records the first error.
func (w *rewriter) note(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *rewriter) malformed(format string, args ...any) {
	w.note(fmt.Errorf("%w: %s", wasmbin.ErrMalformed, fmt.Sprintf(format, args...)))
}

func (w *rewriter) unsupported(format string, args ...any) {
	w.note(fmt.Errorf("%w: %s", wasmbin.ErrUnsupported, fmt.Sprintf(format, args...)))
}

// reserved rejects modules that use reserved names.
func (w *rewriter) reserved() error {
	for _, i := range w.b.Imports {
		if strings.HasPrefix(i.Module, Prefix) {
			return fmt.Errorf("%w: the module imports %q from %q", ErrReserved, i.Name, i.Module)
		}
	}
	for _, e := range w.b.Exports {
		if strings.HasPrefix(e.Name, Prefix) {
			return fmt.Errorf("%w: the module exports %q", ErrReserved, e.Name)
		}
	}
	return nil
}

// shift returns the index of a function after the rewriting. An index past the end is an error, since it could become
// that of an added function.
func (w *rewriter) shift(fn uint32) uint32 {
	if _, ok := w.b.FuncType(fn); !ok {
		w.malformed("function %d is named but does not exist", fn)
	}
	if w.o.Meter && int64(fn) >= int64(w.b.ImportedFuncs()) {
		return fn + 1
	}
	return fn
}

// declare is shift for a function that is referenced outside of code.
func (w *rewriter) declare(fn uint32) uint32 {
	if _, ok := w.taken[fn]; ok { // the code has been analysed
		w.declared[fn] = true
	}
	return w.shift(fn)
}

// entry returns the index of a function in the table of references.
func (w *rewriter) entry(fn uint32) uint32 {
	at, ok := w.taken[fn]
	if !ok {
		at = uint32(len(w.order))
		w.taken[fn] = at
		w.order = append(w.order, fn)
	}
	return at
}

// references returns the index of the table of references: the last one.
func (w *rewriter) references() uint32 { return uint32(len(w.b.Tables)) }

// nGlobals returns the number of globals, including imported ones.
func (w *rewriter) nGlobals() uint32 { return uint32(len(w.imported.globals) + len(w.globals)) }

// fuel and depth return the indices of the counters.
func (w *rewriter) fuel() uint32  { return w.nGlobals() }
func (w *rewriter) depth() uint32 { return w.nGlobals() + 1 }

// refill returns the index of the refill function: the last imported one.
func (w *rewriter) refill() uint32 { return uint32(w.b.ImportedFuncs()) }
