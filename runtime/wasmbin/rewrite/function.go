package rewrite

import (
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// maxLocals exceeds the compiler's limit, and is small enough to avoid overflow.
const maxLocals = 1 << 20

// function is a defined function.
type function struct {
	body         []byte
	groups       uint32 // number of local groups
	groupsAt     int    // offset of the local groups
	first        int    // offset of the first instruction
	locals       uint32 // including parameters
	results      []byte
	cheap        bool // its callers pay for its own straight part
	instructions int
	vectors      int  // number of vector instructions
	calls        int  // number of calls it makes
	checks       bool // it contains a fuel check
	pays         bool // it contains an instruction that pays by an operand
	early        int  // index in analysis.events of a loop that every call reaches first, or -1
	blockType    []byte
}

// event is a change at a place in a function.
type event struct {
	kind     eventKind
	shift    int8   // for pay
	at, end  uint32 // of the instruction, in the function's body
	arg      uint32 // the function, the label of a return, or the end of a quiet loop
	costSlot uint32 // index in analysis.costs of the instruction's straight part; for a loop, its own
}

type eventKind byte

const (
	loopHead eventKind = iota
	callFunc
	callTable // a return_call_indirect that becomes a call_indirect
	tailFunc  // a return_call
	tailTable // a return_call_indirect
	refFunc
	leave   // return
	pay     // by the number on the top of the stack
	pause   // before an instruction in a long straight part
	typed   // a select with a type
	simpler // a stretch of pure instructions: arg and costSlot are the place of its replacement in analysis.simpler
)

// straight is the index in analysis.costs of a function's first straight part.
const straight = 0

// analyse walks one function and records its changes and the cost of each straight part.
func (a *analysis) analyse(i int, body []byte, at int) {
	typ, _ := a.b.FuncType(uint32(a.b.ImportedFuncs() + i))
	params, results, _ := a.b.Signature(typ)
	f := &function{body: body, results: results, locals: uint32(len(params)), early: -1}
	_, f.cheap = a.cheap(i)
	a.f, a.number, a.begun, a.run = f, uint32(a.b.ImportedFuncs()+i), false, 0
	a.events, a.costs, a.simpler = a.events[:0], append(a.costs[:0], 1), a.simpler[:0]
	a.stretch.reset()
	d := wasmbin.NewDecoder(body, at, "a function body")
	if a.readLocals(d); a.o.Meter && a.o.Simplify && a.err == nil {
		f.body = a.dispatch.direct(body, f.first)
		d = wasmbin.NewDecoder(f.body, at, "a function body")
		d.Bytes(uint32(f.first))
	}
	a.open = append(a.open[:0], block{slot: straight, event: -1})
	for !d.Done() && a.err == nil && len(a.open) > 0 && d.Next(&a.in) {
		f.instructions++
		a.instruction()
	}
	if a.note(d.Err()); a.err == nil && (len(a.open) > 0 || !d.Done()) {
		a.malformed("a function does not end where its body does, at offset %d", d.Offset())
	}
	if a.o.Meter && f.calls > 0 && len(results) > 1 {
		f.blockType = wasmbin.AppendS64(nil, int64(a.types.index("", string(results))))
	}
}

func (a *analysis) readLocals(d *wasmbin.Decoder) {
	f := a.f
	n := d.Count(2)
	f.groups, f.groupsAt = uint32(n), d.Pos()
	total := uint64(f.locals)
	for ; n > 0 && d.Err() == nil; n-- {
		total += uint64(d.U32())
		d.ValueType()
	}
	if total > maxLocals {
		a.note(fmt.Errorf("%w: a function has %d locals", wasmbin.ErrLimit, total))
		total = 0
	}
	f.locals, f.first = uint32(total), d.Pos()
}
