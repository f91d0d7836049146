package rewrite

import (
	"slices"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Functions that are exported if the module is resumable (Info.Resumable).
const (
	WaitExport  = prefix + "wait"  // (i32) -> i32: calls the import Options.Wait, and returns
	ClockExport = prefix + "clock" // (i32) -> i32: calls the import Options.Clock, and returns; only with Info.Clocked
	LoopExport  = prefix + "loop"  // () -> (): runs goroutines
)

// goProgram is a program that Go compiled for WASI. Such a program can continue after its WebAssembly stack was dropped
// in a call of an import: the stacks of its goroutines, with parameters and return addresses, are in its memory, and
// each function can be entered behind any of its calls, which is how Go switches between goroutines. It continues by
// a second call of the function that calls the import, and then by the loop, which enters the function of the topmost return address
// until the program pauses or ends.
//
// Go's start function, the loop and the callers are recognized by all of their instructions.
type goProgram struct {
	wait, clock goImport // that the program waits in, and that it reads its clock by
	sp          uint32
	loop        uint32
	stack       uint32 // the end of the stack that the program starts on
}

// goImport is an imported function, by its index or -1, and the functions that call it.
type goImport struct {
	index   int64
	callers []uint32
}

// calledBy notes a call of fn, if it is the import.
func (i *goImport) calledBy(fn, caller uint32) {
	if i.index == int64(fn) {
		i.callers = append(i.callers, caller)
	}
}

// The bodies of these functions, by their opcodes.
var (
	goStart = []byte{opI64Const, opI32WrapI64, opGlobalSet, opI32Const, opCall, opDrop, opCall, opReturn, opUnreachable, opEnd}
	goLoop  = []byte{
		opGlobalGet, opI32Eqz, opIf, opLoop,
		opGlobalGet, opI32Const, opI32Sub, opI32Load16U,
		opGlobalGet, opI32Const, opI32Sub, opI32Load16U,
		opCallIndirect, opDrop,
		opGlobalGet, opI32Eqz, opBrIf, opEnd, opEnd,
		opI32Const, opGlobalSet, opReturn, opUnreachable, opEnd,
	}
	goWait = goCaller(opLocalGet, opI32Load, opLocalGet, opI32Load, opLocalGet, opI32Load, opLocalGet, opI32Load)
	// The time of clock_time_get is a pointer, and its precision 64 bits.
	goClock = goCaller(opLocalGet, opI32Load, opLocalGet, opI64Load, opLocalGet, opI32Load)
)

// goCaller returns the body of a function that calls an import: it loads parameters, calls, and stores the result.
func goCaller(parameters ...byte) []byte {
	return slices.Concat([]byte{opGlobalGet, opLocalSet}, parameters, []byte{opCall}, goResult)
}

var goResult = []byte{
	opGlobalGet, opLocalSet, opI64ExtendI32U, opLocalSet, opLocalGet, opLocalGet, opI64Store32,
	opLocalGet, opI32Const, opI32Add, opLocalTee, opGlobalSet, opI32Const, opReturn, opUnreachable, opEnd,
}

// findGoProgram looks for the import, the start function and the loop.
func (w *rewriter) findGoProgram() {
	w.program.wait.index, w.program.clock.index = -1, -1
	start, ok := w.b.Export("_start")
	if !ok || !w.o.Snapshot {
		return
	}
	in := w.shaped(start.Index, goStart)
	if in == nil {
		return
	}
	sp := in[2].X
	loop := w.shaped(in[6].X, goLoop)
	if loop == nil || loop[4].X != sp || loop[8].X != sp || loop[0].X == sp || loop[14].X != loop[0].X || loop[20].X != loop[0].X {
		return
	}
	w.program = goProgram{sp: sp, loop: in[6].X, stack: uint32(in[0].N) + 2*goAddress, wait: goImport{index: w.importedFunc(w.o.WaitModule, w.o.WaitName)},
		clock: goImport{index: w.importedFunc(w.o.WaitModule, w.o.ClockName)}}
}

// resumable reports whether the program can be resumed in an import, which is called by a function of this body. The
// code has been written before.
func (w *rewriter) resumable(i *goImport, body []byte) bool {
	if i.index < 0 || len(i.callers) != 1 {
		return false
	}
	in := w.shaped(i.callers[0], body)
	if in == nil {
		return false
	}
	sp, result := w.program.sp, in[len(in)-len(goResult):]
	return in[0].X == sp && result[0].X == sp && result[11].X == sp && result[8].N == goAddress
}

// goStackPointer is the number of the global with the stack pointer, as Go's linker writes it.
const goStackPointer = 0

// goAddress is the size of a return address on the stack of a goroutine.
const goAddress = 8

// importedFunc returns the index of an imported function, or -1.
func (w *rewriter) importedFunc(module, name string) int64 {
	index := int64(0)
	for _, i := range w.b.Imports {
		if i.Kind != wasmbin.Func {
			continue
		}
		if i.Module == module && i.Name == name {
			return index
		}
		index++
	}
	return -1
}

// shaped returns the instructions of a defined function if they have these opcodes, else nil. A load of 16 bits stands
// for one of 32 too: the versions of Go differ in it.
func (w *rewriter) shaped(fn uint32, ops []byte) []wasmbin.Instruction {
	d := wasmbin.NewDecoder(w.body(fn), 0, "a function body")
	for n := d.Count(2); n > 0 && d.Err() == nil; n-- {
		d.U32()
		d.ValueType()
	}
	list := make([]wasmbin.Instruction, 0, len(ops))
	for !d.Done() && len(list) < len(ops) {
		var in wasmbin.Instruction
		op := ops[len(list)]
		if !d.Next(&in) || in.Op != op && !(op == opI32Load16U && in.Op == opI32Load) {
			return nil
		}
		list = append(list, in)
	}
	if !d.Done() || len(list) < len(ops) || d.Err() != nil {
		return nil
	}
	return list
}

// body returns the body of a defined function; nil if there is none.
func (w *rewriter) body(fn uint32) []byte {
	i := slices.IndexFunc(w.b.Sections(), func(s wasmbin.RawSection) bool { return s.ID == wasmbin.SectionCode })
	if i < 0 || int64(fn) < int64(w.b.ImportedFuncs()) {
		return nil
	}
	s := w.b.Sections()[i]
	d := wasmbin.NewDecoder(s.Data, s.Offset, "the code section")
	for n, skip := d.Count(2), int(fn)-w.b.ImportedFuncs(); n > 0 && d.Err() == nil; n, skip = n-1, skip-1 {
		if body := d.Bytes(d.U32()); skip == 0 {
			return body
		}
	}
	return nil
}
