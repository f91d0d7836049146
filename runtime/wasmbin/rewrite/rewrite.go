package rewrite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Names that are added to modules. A module that uses Prefix for its own imports or exports is refused.
const (
	Prefix       = "sallyport:"
	Module       = Prefix + "engine" // what the refill function is imported from
	RefillImport = "refill"
	FuelGlobal   = Prefix + "fuel"
	DepthGlobal  = Prefix + "depth"
	StartExport  = Prefix + "start"
)

// ErrReserved is for a module that imports or exports a name that begins with Prefix.
var ErrReserved = errors.New("reserved name")

// Options say what Rewrite does.
type Options struct {
	Meter    bool
	Snapshot bool
	// Depth is what DepthGlobal holds at first. A call costs 1, and 1 more for every 16 locals, every 1,024
	// instructions and every 64 on vectors of the function called; zero means 65,536, which is about 10 MB of stack.
	Depth int64
	// Leaf is how many instructions a function that calls nothing may have without being metered
	// itself; zero means 200.
	Leaf int
}

// Info is what the host must know about a rewritten module. It holds views of the module.
type Info struct {
	Globals []Global // what must be kept and put back, without the counters
	Data    []Data   // to be copied into the memory, in this order, before start
	Start   string   // export to be called after that, or ""
	Uses    Uses
	Checks  int // places at which the code looks at its fuel
}

// Global is a mutable global that the module defines.
type Global struct {
	Type byte // as the binary format encodes it, 0x7f for i32
	// Export is the exported global. A global of type v128 has instead the exported functions
	// Get () -> (i64, i64) and Set (i64, i64) -> (), with the lower half first.
	Export, Get, Set string
}

// Data is an active data segment.
type Data struct {
	Offset uint32
	// From is the imported immutable global of type i32 that holds the offset instead, or nil.
	From  *wasmbin.Import
	Bytes []byte
}

// Uses says which instructions occur in the code that change state outside of memory and globals.
type Uses struct {
	TableWrite bool // table.set, grow, fill, copy or init
	ElemDrop   bool
	DataDrop   bool
	MemoryInit bool // changes nothing by itself
	MemoryGrow bool
}

// References tells whether an instance has state beside its memory and the numbers in globals: references that change, or
// segments that can be dropped. What a module imports is not its own.
func (i *Info) References() bool {
	return i.Uses.TableWrite || i.Uses.ElemDrop || i.Uses.DataDrop || slices.ContainsFunc(i.Globals, Global.Reference)
}

// Reference tells whether the global is of a reference type.
func (g Global) Reference() bool { return g.Type < typeV128 }

// Rewrite returns the module with what the options ask for. The errors are those of package wasmbin, and ErrReserved;
// offsets in them are those of the checked module.
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

// rewriter is the state of rewriting one module. The first problem stays in err.
type rewriter struct {
	o    Options
	b    *wasmbin.Checked
	info *Info
	err  error

	imported struct{ globals []wasmbin.Import } // in the index space of globals
	globals  []global                           // that the module defines
	hasMem   bool

	start int64 // the start function, or -1
	// References that the code takes come from a table that is added, where each function has one entry: the engine would
	// make another one each time, and keep it as long as the instance.
	taken    map[uint32]uint32 // the entry of each function
	order    []uint32          // the functions of the entries, by their old numbers
	declared map[uint32]bool   // those whose reference is also taken outside of code, or else code may not take it

	events      []event // of the function that is walked
	costs       []int64 // of its straight parts
	open        []block // room for its open blocks
	in          wasmbin.Instruction
	blockTypes  map[string]uint32
	extraTypes  []byte // types added
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

// note keeps the first problem.
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

// reserved refuses modules that use our names.
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

// shift is the number of a function after the rewriting. A number past the end is a problem, since it could
// come to mean a function that was added.
func (w *rewriter) shift(fn uint32) uint32 {
	if _, ok := w.b.FuncType(fn); !ok {
		w.malformed("function %d is named but does not exist", fn)
	}
	if w.o.Meter && int64(fn) >= int64(w.b.ImportedFuncs()) {
		return fn + 1
	}
	return fn
}

// declare is shift for a function whose reference is taken outside of code.
func (w *rewriter) declare(fn uint32) uint32 {
	if _, ok := w.taken[fn]; ok { // the code has been walked
		w.declared[fn] = true
	}
	return w.shift(fn)
}

// entry is where in the table of references a function is.
func (w *rewriter) entry(fn uint32) uint32 {
	at, ok := w.taken[fn]
	if !ok {
		at = uint32(len(w.order))
		w.taken[fn] = at
		w.order = append(w.order, fn)
	}
	return at
}

// references is the number of the table of references: the last one.
func (w *rewriter) references() uint32 { return uint32(len(w.b.Tables)) }

// nGlobals is how many globals the module has, with those imported.
func (w *rewriter) nGlobals() uint32 { return uint32(len(w.imported.globals) + len(w.globals)) }

// fuel and depth are the numbers of the counters.
func (w *rewriter) fuel() uint32  { return w.nGlobals() }
func (w *rewriter) depth() uint32 { return w.nGlobals() + 1 }

// refill is the number of the refill function: the last one imported.
func (w *rewriter) refill() uint32 { return uint32(w.b.ImportedFuncs()) }
