package rewrite

import (
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// maxLocals is more than the compiler accepts, and little enough to count with.
const maxLocals = 1 << 20

// function is one function that the module defines.
type function struct {
	body         []byte
	groups       uint32 // of locals
	groupsAt     int    // where they begin
	first        int    // where the instructions begin
	locals       uint32 // with parameters
	results      []byte
	cheap        bool // its callers pay for its own straight part
	instructions int
	vectors      int  // how many of them are on vectors
	calls        int  // how many calls it makes
	checks       bool // something in it looks at the fuel
	pays         bool // something in it pays by an operand
	early        int  // which of rewriter.events is a loop that every call comes to before anything else, or -1
	blockType    []byte
}

// event is a place in a function at which something is to be changed.
type event struct {
	kind     eventKind
	shift    int8   // for pay
	at, end  uint32 // of the instruction, in the function's body
	arg      uint32 // the function named, the label of a return, or where a quiet loop ends
	costSlot uint32 // which of rewriter.costs the instruction belongs to; for a loop, its own
}

type eventKind byte

const (
	loopHead eventKind = iota
	callFunc
	refFunc
	leave // return
	pay   // by the number on the top of the stack
	pause // before an instruction in a long straight part
	typed // a select that names its type
)

// straight is which of rewriter.costs is that of a function's own straight part.
const straight = 0

// ends notes a decoder's problem, or that something is left to be decoded.
func (w *rewriter) ends(d *wasmbin.Decoder) {
	w.note(d.Err())
	if w.err == nil && !d.Done() {
		w.malformed("a section has bytes too many at offset %d", d.Offset())
	}
}

// analyse walks one function and notes what is to be changed and what each straight part costs, in events and costs.
// That is done for one function at a time when it is written, or else large files would take many times their size.
func (w *rewriter) analyse(i int, body []byte, at int) *function {
	typ, _ := w.b.FuncType(uint32(w.b.ImportedFuncs() + i))
	params, results, _ := w.b.Signature(typ)
	f := &function{body: body, results: results, locals: uint32(len(params)), early: -1}
	_, f.cheap = w.cheap(i)
	w.events, w.costs = w.events[:0], append(w.costs[:0], 1)
	d := wasmbin.NewDecoder(body, at, "a function body")
	w.readLocals(d, f)
	a := analysis{rewriter: w, f: f, open: append(w.open[:0], block{slot: straight, event: -1})}
	for !d.Done() && w.err == nil && len(a.open) > 0 && d.Next(&w.in) {
		f.instructions++
		a.instruction()
	}
	if w.note(d.Err()); w.err == nil && (len(a.open) > 0 || !d.Done()) {
		w.malformed("a function does not end where its body does, at offset %d", d.Offset())
	}
	w.open = a.open
	if w.o.Meter && f.calls > 0 && len(results) > 1 {
		f.blockType = wasmbin.AppendS64(nil, int64(w.typeOf("", string(results))))
	}
	return f
}

func (w *rewriter) readLocals(d *wasmbin.Decoder, f *function) {
	n := d.Count(2)
	f.groups, f.groupsAt = uint32(n), d.Pos()
	total := uint64(f.locals)
	for ; n > 0 && d.Err() == nil; n-- {
		total += uint64(d.U32())
		d.ValueType()
	}
	if total > maxLocals {
		w.note(fmt.Errorf("%w: a function has %d locals", wasmbin.ErrLimit, total))
		total = 0
	}
	f.locals, f.first = uint32(total), d.Pos()
}
