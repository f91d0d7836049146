package rewrite

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/unwind"
)

// Names that are added to modules. A module that uses their prefix in its own imports or exports is rejected.
const (
	prefix       = "sallyport:"
	Module       = prefix + "engine" // the import module of the refill function
	RefillImport = "refill"
	FuelGlobal   = prefix + "fuel"
	DepthGlobal  = prefix + "depth"
	StartExport  = prefix + "start"
)

// ErrReserved means that a module has an import from a module, or an export, whose name begins with sallyport:.
var ErrReserved = errors.New("reserved name")

// Options selects the changes of Rewrite.
type Options struct {
	Meter    bool
	Snapshot bool
	// Simplify replaces expressions and jumps of metered code by equal ones that the engine compiles to less code. It
	// changes no results and traps; jumps spend other fuel.
	Simplify bool
	// Depth is the initial value of DepthGlobal. A call costs 1, and 1 more for every 16 locals, every 1,024
	// instructions and every 64 vector instructions of the called function; zero means 65,536, which is about 10 MB of
	// stack.
	Depth int64
	// Leaf is the maximum number of instructions of a function without calls that is not metered itself; zero means
	// 200.
	Leaf int
	// TailIndirect keeps tail calls through tables (see tail.go). Without it they become calls, which take depth.
	TailIndirect bool
	// WaitModule and WaitName name the import in which a program of Go waits for events (see Info.Resumable), and
	// WaitModule and ClockName that by which it reads its clocks (see Info.Clocked).
	WaitModule, WaitName, ClockName string
}

// Info describes a rewritten module for the host. It holds views of the module.
type Info struct {
	Globals []Global // the state to snapshot, without the counters
	Data    []Data   // to be copied into the memory, in this order, before Start
	Start   string   // export to be called after that, or ""
	Uses    Uses
	Checks  int // number of fuel checks
	// Resumable reports that memory and globals are the whole state of the program while it is in the import
	// Options.Wait: it continues there by a call of WaitExport, with any argument, and one of LoopExport.
	Resumable bool
	// Clocked reports the same of the import Options.Clock, with a call of ClockExport. Stack is the end of the stack that
	// the program starts on, an address in its memory.
	Clocked bool
	Stack   uint32
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
	m, err := unwind.Lower(m)
	if err != nil {
		return nil, nil, err
	}
	o.Depth = cmp.Or(o.Depth, 1<<16)
	o.Leaf = cmp.Or(o.Leaf, 200)
	w := &rewriter{survey: &survey{o: o, b: m, start: -1}, info: &Info{}, refs: references{entries: make(map[uint32]uint32), declared: make(map[uint32]bool)}, types: types{next: uint32(m.Types())}}
	if err := w.reserved(); err != nil {
		return nil, nil, err
	}
	if w.read(); w.err == nil {
		w.plan()
		w.findGoProgram()
	}
	if w.err != nil {
		return nil, nil, w.err
	}
	out := w.write(len(m.Wasm()))
	if w.err != nil {
		return nil, nil, w.err
	}
	return out, w.info, nil
}

// rewriter writes the sections of one module with their additions, a method for each section.
type rewriter struct {
	*survey
	info    *Info
	types   types
	refs    references
	getSet  []accessor
	program goProgram
}

// declare is shift for a function that is referenced outside of code.
func (w *rewriter) declare(fn uint32) uint32 {
	w.refs.declare(fn)
	return w.shift(fn)
}

// constant copies a constant expression with function indices shifted.
func (w *rewriter) constant(d *wasmbin.Decoder, out []byte) []byte {
	return w.survey.constant(d, out, w.declare)
}
