package rewrite

import (
	"encoding/binary"
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// What an instruction costs beyond the one unit that each has.
const (
	// callCost is for calls to the host or through a table: nobody knows how long the function is.
	callCost = 10
	// pageShift is for each page that memory.grow asks for, as a shift to the left: 1,024.
	pageShift = 10
	// byteShift is for instructions on many bytes, as a shift to the right: 1 for 16 bytes.
	byteShift = 4
)

// The weight of a function's frame on the engine's stack: 1, and 1 for so many of these.
const (
	weightLocals       = 16
	weightInstructions = 1024
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
	events       [2]int // which of rewriter.events
	straight     int    // which of rewriter.costs is that of its own straight part
	instructions int
	calls        int  // how many calls it makes
	checks       bool // something in it looks at the fuel
	pays         bool // something in it pays by an operand
	early        int  // the event of a loop that every call comes to before anything else, or -1
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
)

// analyse walks the code once and notes what is to be changed, and what each straight part costs.
func (w *rewriter) analyse() {
	n := 0
	for _, s := range w.b.Sections() {
		if s.ID != sectionCode {
			continue
		}
		d := wasmbin.NewDecoder(s.Data, s.Offset, "the code section")
		n = d.Count(2)
		w.code = make([]function, 0, n)
		for i := 0; i < n && d.Err() == nil && w.err == nil && i < w.b.Funcs; i++ {
			size := d.U32()
			at := d.Offset()
			if body := d.Bytes(size); d.Err() == nil {
				w.analyseFunction(i, body, at)
			}
		}
		w.ends(d)
	}
	if w.err == nil && n != w.b.Funcs {
		w.malformed("%d functions are declared but %d have code", w.b.Funcs, n)
	}
	if w.err == nil && w.o.Meter {
		w.addCalls()
	}
}

// ends notes a decoder's problem, or that something is left to be decoded.
func (w *rewriter) ends(d *wasmbin.Decoder) {
	w.note(d.Err())
	if w.err == nil && !d.Done() {
		w.malformed("a section has bytes too many at offset %d", d.Offset())
	}
}

// analysis is the state of walking one function.
type analysis struct {
	*rewriter
	f    *function
	open []block // the open blocks, the function itself first
	in   wasmbin.Instruction
	// begun says that something may have left the straight line from the function's start, or paid.
	begun bool
}

// block is an open block.
type block struct {
	slot  uint32 // which of costs its code belongs to
	event int    // of a loop's head, or -1
	calls int    // made by the function before it
}

func (w *rewriter) analyseFunction(i int, body []byte, at int) {
	typ, _ := w.b.FuncType(uint32(w.b.ImportedFuncs() + i))
	params, results, _ := w.b.Signature(typ)
	w.code = append(w.code, function{body: body, results: results, straight: len(w.costs), locals: uint32(len(params)), early: -1})
	f := &w.code[i]
	f.events[0] = len(w.events)
	w.costs = append(w.costs, 1)
	d := wasmbin.NewDecoder(body, at, "a function body")
	w.readLocals(d, f)
	a := analysis{rewriter: w, f: f, open: []block{{slot: uint32(f.straight), event: -1}}}
	for !d.Done() && w.err == nil && len(a.open) > 0 && d.Next(&a.in) {
		f.instructions++
		a.instruction()
	}
	if w.note(d.Err()); w.err == nil && (len(a.open) > 0 || !d.Done()) {
		w.malformed("a function does not end where its body does, at offset %d", d.Offset())
	}
	f.events[1] = len(w.events)
	if w.o.Meter && f.calls > 0 && len(results) > 1 {
		f.blockType = appendS64(nil, int64(w.typeOf("", string(results))))
	}
}

func (w *rewriter) readLocals(d *wasmbin.Decoder, f *function) {
	n := d.Count(2)
	f.groups, f.groupsAt = uint32(n), d.Pos()
	total := uint64(f.locals)
	for ; n > 0 && d.Err() == nil; n-- {
		total += uint64(d.U32())
		d.U8()
	}
	if total > maxLocals {
		w.note(fmt.Errorf("%w: a function has %d locals", wasmbin.ErrLimit, total))
		total = 0
	}
	f.locals, f.first = uint32(total), d.Pos()
}

// add notes a change at the current instruction.
func (a *analysis) add(kind eventKind, shift int8, arg uint32) {
	a.events = append(a.events, event{kind, shift, uint32(a.in.Begin), uint32(a.in.End), arg, a.open[len(a.open)-1].slot})
}

// instruction looks at one instruction: what it costs, whether it names something that must exist, and
// whether it must be changed.
func (a *analysis) instruction() {
	in := &a.in
	slot := a.open[len(a.open)-1].slot
	a.costs[slot]++
	switch in.Op {
	case 0x04, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x40, 0xfc:
		a.begun = true
	}
	switch in.Op {
	case 0x02, 0x03, 0x04: // block, loop, if
		a.begin(slot)
	case 0x0b: // end
		a.end()
	case 0x0c, 0x0d: // br, br_if
		a.label(in.X)
	case 0x0e: // br_table
		for _, l := range in.Labels {
			a.label(l)
		}
	case 0x0f: // return
		a.add(leave, 0, uint32(len(a.open)-1))
	case 0x10: // call
		a.f.calls++
		a.shift(in.X)
		a.add(callFunc, 0, in.X)
	case 0x11: // call_indirect
		a.f.calls++
		a.costs[slot] += callCost
		a.knownType(in.X)
	case 0x20, 0x21, 0x22: // local.get, set, tee
		if in.X >= a.f.locals {
			a.malformed("a function names local %d of %d", in.X, a.f.locals)
		}
	case 0x23, 0x24: // global.get, set
		a.knownGlobal(in.X)
	case 0x26: // table.set
		a.info.Uses.TableWrite = true
	case 0x40: // memory.grow
		a.info.Uses.MemoryGrow = true
		a.pays(-pageShift)
	case 0xd2: // ref.func
		a.shift(in.X)
		a.startTaken = a.startTaken || int64(in.X) == a.start
		a.add(refFunc, 0, in.X)
	case 0xfc:
		a.bulk()
	}
}

func (a *analysis) begin(slot uint32) {
	if a.in.Typed {
		a.knownType(a.in.X)
	}
	if a.in.Op != opLoop {
		a.open = append(a.open, block{slot: slot, event: -1})
		return
	}
	a.open = append(a.open, block{uint32(len(a.costs)), len(a.events), a.f.calls})
	a.costs = append(a.costs, 1)
	a.f.checks = true
	if !a.begun {
		a.f.early, a.begun = len(a.events), true
	}
	a.add(loopHead, 0, 0)
}

// end closes a block. A loop that calls nothing is quiet: only it changes the fuel while it runs.
func (a *analysis) end() {
	last := a.open[len(a.open)-1]
	a.open = a.open[:len(a.open)-1]
	if last.event >= 0 && last.calls == a.f.calls {
		a.events[last.event].arg = uint32(a.in.End)
	}
}

func (a *analysis) bulk() {
	u := &a.info.Uses
	switch a.in.Sub {
	case 8: // memory.init
		u.MemoryInit = true
		a.pays(byteShift)
	case 9:
		u.DataDrop = true
	case 10, 11: // memory.copy, memory.fill
		a.pays(byteShift)
	case 13:
		u.ElemDrop = true
	case 12, 14, 15, 17: // table.init, copy, grow, fill
		u.TableWrite = true
		a.pays(0)
	}
}

// pays notes an instruction that costs by the number on the top of the stack.
func (a *analysis) pays(shift int8) {
	a.f.checks, a.f.pays = true, true
	a.add(pay, shift, 0)
}

func (a *analysis) label(l uint32) {
	if uint64(l) >= uint64(len(a.open)) {
		a.malformed("a function branches out of itself, before byte %d of its body", a.in.End)
	}
}

func (w *rewriter) knownType(typ uint32) {
	if uint64(typ) >= uint64(w.b.Types()) {
		w.malformed("type %d of %d is named", typ, w.b.Types())
	}
}

func (w *rewriter) knownGlobal(g uint32) {
	if g >= w.nGlobals() {
		w.malformed("global %d of %d is named", g, w.nGlobals())
	}
}

// addCalls adds to the cost of each call what the function called does not count itself.
func (w *rewriter) addCalls() {
	imported := uint32(w.b.ImportedFuncs())
	for i := range w.code {
		f := &w.code[i]
		for _, e := range w.events[f.events[0]:f.events[1]] {
			if e.kind != callFunc {
				continue
			}
			if e.arg < imported {
				w.costs[e.costSlot] += callCost
			} else if callee := &w.code[e.arg-imported]; w.cheap(callee) {
				w.costs[e.costSlot] += w.costs[callee.straight]
			}
		}
		f.checks = f.checks || !w.cheap(f)
		w.joinEarly(f)
	}
}

// joinEarly lets the first loop pay for the function's straight part, if it comes to that in any case and
// costs more itself. So a function has one check where it would have two; in code that Go's compiler makes, most do.
func (w *rewriter) joinEarly(f *function) {
	if f.early < 0 {
		return
	}
	loop := w.events[f.early].costSlot
	if f.calls == 0 || w.costs[loop] < w.costs[f.straight] {
		f.early = -1
		return
	}
	w.costs[loop] += w.costs[f.straight]
}

// cheap tells whether a function's straight part is paid for by its callers.
func (w *rewriter) cheap(f *function) bool {
	return f.calls == 0 && w.costs[f.straight] <= int64(w.o.Leaf)
}

// weight is what a call of the function takes from the depth.
func (f *function) weight() int64 {
	return 1 + int64(f.locals)/weightLocals + int64(f.instructions)/weightInstructions
}

// writeCode writes the code section's content.
func (w *rewriter) writeCode(out []byte) []byte {
	out = binary.AppendUvarint(out, uint64(len(w.code)+len(w.getSet)))
	var scratch []byte
	for i := range w.code {
		f := &w.code[i]
		scratch = w.writeFunction(scratch[:0], f)
		out = appendBytes(out, scratch)
	}
	for _, a := range w.getSet {
		out = appendBytes(out, a.body)
	}
	return out
}

// writeFunction writes a function with the changes noted.
func (w *rewriter) writeFunction(out []byte, f *function) []byte {
	if !w.o.Meter {
		return append(out, f.body...)
	}
	c := coder{rewriter: w, f: f, out: out, temp: f.locals}
	c.locals()
	c.enter()
	from := uint32(f.first)
	for i := f.events[0]; i < f.events[1]; i++ {
		from = c.change(&w.events[i], from, i == f.early)
	}
	c.out = append(c.out, f.body[from:]...)
	c.exit()
	return c.out
}

// coder writes one metered function.
type coder struct {
	*rewriter
	f    *function
	out  []byte
	temp uint32 // a local of type i64, and another one if the function calls or pays
	// quiet is where the loop ends in which temp holds the fuel, so that it need not be loaded: waiting for
	// what was stored a moment ago is what a short loop would spend its time with.
	quiet uint32
}

func (c *coder) locals() {
	f := c.f
	if !f.checks {
		c.out = append(c.out, f.body[:f.first]...)
		return
	}
	c.out = binary.AppendUvarint(c.out, uint64(f.groups)+1)
	c.out = append(c.out, f.body[f.groupsAt:f.first]...)
	n := byte(1)
	if f.calls > 0 || f.pays {
		n = 2
	}
	c.out = append(c.out, n, typeI64)
}

// enter writes what a function begins with. The body of one that calls becomes a block, so that
// every way out leads past exit: a branch to the function's label is one to the block's now, and a return becomes such a branch.
func (c *coder) enter() {
	f := c.f
	if c.cheap(f) {
		return
	}
	if f.early < 0 {
		c.load(0)
		c.take(c.costs[f.straight])
	}
	if f.calls == 0 {
		c.refillIf(c.pushTemp)
		return
	}
	c.op(opGlobalGet, c.depth())
	c.i64(f.weight())
	c.out = append(c.out, opI64Sub)
	c.op(opLocalTee, c.temp+1)
	c.op(opGlobalSet, c.depth())
	if f.early < 0 {
		c.refillIf(c.pushBoth)
	}
	c.out = append(c.out, opBlock)
	switch {
	case len(f.results) == 0:
		c.out = append(c.out, typeEmpty)
	case len(f.results) == 1:
		c.out = append(c.out, f.results[0])
	default:
		c.out = append(c.out, f.blockType...)
	}
}

// pushBoth pushes what is negative if the fuel or the depth is.
func (c *coder) pushBoth() {
	c.pushTemp()
	c.op(opLocalGet, c.temp+1)
	c.out = append(c.out, opI64Or)
}

func (c *coder) pushTemp() { c.op(opLocalGet, c.temp) }

// exit writes what follows the body's end.
func (c *coder) exit() {
	if c.f.calls == 0 {
		return
	}
	c.op(opGlobalGet, c.depth())
	c.i64(c.f.weight())
	c.out = append(c.out, opI64Add)
	c.op(opGlobalSet, c.depth())
	c.out = append(c.out, opEnd)
}

// change writes what lies between from and an event, and the event. It returns where it has got to.
func (c *coder) change(e *event, from uint32, early bool) uint32 {
	switch e.kind {
	case loopHead:
		c.out = append(c.out, c.f.body[from:e.at]...)
		if e.at >= c.quiet && e.arg > 0 {
			c.op(opGlobalGet, c.fuel())
			c.op(opLocalSet, c.temp)
			c.quiet = e.arg
		}
		c.out = append(c.out, c.f.body[e.at:e.end]...)
		c.load(e.at)
		c.take(c.costs[e.costSlot])
		if early {
			c.refillIf(c.pushBoth)
		} else {
			c.refillIf(c.pushTemp)
		}
		return e.end
	case pay:
		c.out = append(c.out, c.f.body[from:e.at]...)
		c.payFor(e.at, e.shift)
		return e.at
	}
	c.out = append(c.out, c.f.body[from:e.at]...)
	switch {
	case e.kind == callFunc:
		c.op(opCall, c.shift(e.arg))
	case e.kind == refFunc:
		c.op(opRefFunc, c.shift(e.arg))
	case c.f.calls > 0:
		c.op(opBr, e.arg)
	default:
		c.out = append(c.out, opReturn)
	}
	return e.end
}

// load pushes the fuel, at a place in the body.
func (c *coder) load(at uint32) {
	if at < c.quiet {
		c.op(opLocalGet, c.temp)
	} else {
		c.op(opGlobalGet, c.fuel())
	}
}

// take takes from the fuel on the stack, and leaves what remains in temp.
func (c *coder) take(cost int64) {
	c.i64(cost)
	c.store()
}

// store subtracts what is on the stack from the fuel below it.
func (c *coder) store() {
	c.out = append(c.out, opI64Sub)
	c.op(opLocalTee, c.temp)
	c.op(opGlobalSet, c.fuel())
}

// refillIf calls refill if the value that push pushes is negative.
func (c *coder) refillIf(push func()) {
	c.info.Checks++
	push()
	c.i64(0)
	c.out = append(c.out, opI64LtS, opIf, typeEmpty)
	c.op(opCall, c.refill())
	c.op(opLocalTee, c.temp)
	c.op(opGlobalSet, c.fuel())
	c.out = append(c.out, opEnd)
}

// payFor takes the i32 on the top of the stack, shifted, from the fuel, and leaves it there.
func (c *coder) payFor(at uint32, shift int8) {
	n := c.temp + 1
	c.out = append(c.out, opI64ExtendI32U)
	c.op(opLocalSet, n)
	c.load(at)
	c.op(opLocalGet, n)
	switch {
	case shift > 0:
		c.i64(int64(shift))
		c.out = append(c.out, opI64ShrU)
	case shift < 0:
		c.i64(int64(-shift))
		c.out = append(c.out, opI64Shl)
	}
	c.store()
	c.refillIf(c.pushTemp)
	c.op(opLocalGet, n)
	c.out = append(c.out, opI32WrapI64)
}

// op writes an instruction with one index.
func (c *coder) op(op byte, index uint32) {
	c.out = binary.AppendUvarint(append(c.out, op), uint64(index))
}

// i64 writes a constant.
func (c *coder) i64(n int64) { c.out = appendS64(append(c.out, opI64Const), n) }
