package rewrite

import (
	"encoding/binary"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// writeCode returns the new content of the code section.
func (w *rewriter) writeCode() []byte {
	var d *wasmbin.Decoder
	size, n := 0, 0
	for _, s := range w.b.Sections() {
		if s.ID == wasmbin.SectionCode {
			d, size = wasmbin.NewDecoder(s.Data, s.Offset, "the code section"), len(s.Data)
			n = d.Count(2)
		}
	}
	out := binary.AppendUvarint(make([]byte, 0, size+size/2), uint64(n+len(w.getSet)))
	var scratch []byte
	a := &analysis{rewriter: w}
	for i := 0; i < n && w.err == nil; i++ {
		length := d.U32()
		at := d.Offset()
		scratch = a.writeFunction(scratch[:0], i, d.Bytes(length), at)
		out = wasmbin.AppendBytes(out, scratch)
	}
	for _, a := range w.getSet {
		out = wasmbin.AppendBytes(out, a.body)
	}
	return out
}

// writeFunction appends a function with its events applied.
func (a *analysis) writeFunction(out []byte, i int, body []byte, at int) []byte {
	a.analyse(i, body, at)
	if a.err != nil {
		return out
	}
	if !a.o.Meter {
		return append(out, body...)
	}
	a.addCalls()
	c := coder{analysis: a, out: out, temp: a.f.locals}
	c.locals()
	c.enter()
	from := uint32(a.f.first)
	for i := range a.events {
		from = c.change(&a.events[i], from, i == a.f.early)
	}
	c.out = append(c.out, a.f.body[from:]...)
	c.exit()
	return c.out
}

// coder writes one metered function.
type coder struct {
	*analysis
	out  []byte
	temp uint32 // index of an added i64 local for the fuel; see scratch and entryDepth
	// quiet is the end of the loop in which temp holds the fuel, so that the fuel is not loaded from memory: the
	// latency of reloading a value just stored would dominate short loops.
	quiet uint32
}

// scratch is the index of a second added local, if the function calls or pays.
func (c *coder) scratch() uint32 { return c.temp + 1 }

// entryDepth is the index of a third one, if the function calls: it holds the depth from before the entry. A way out
// stores it again, since loading a value that a call has just stored would cost its latency for each return.
func (c *coder) entryDepth() uint32 { return c.temp + 2 }

func (c *coder) locals() {
	f := c.f
	if !f.checks {
		c.out = append(c.out, f.body[:f.first]...)
		return
	}
	c.out = binary.AppendUvarint(c.out, uint64(f.groups)+1)
	c.out = append(c.out, f.body[f.groupsAt:f.first]...)
	n := byte(1)
	if f.calls > 0 {
		n = 3
	} else if f.pays {
		n = 2
	}
	c.out = append(c.out, n, typeI64)
}

// enter writes the prologue of a function. The body of a function with calls becomes a block, so that every way out
// passes exit: a branch to the function's label now leaves that block, and a return becomes such a branch.
func (c *coder) enter() {
	f := c.f
	if f.cheap {
		return
	}
	if f.early < 0 {
		c.load(0)
		c.take(c.costs[straight])
	}
	if f.calls == 0 {
		c.refillIf(c.pushTemp)
		return
	}
	c.op(opGlobalGet, c.depth())
	c.op(opLocalTee, c.entryDepth())
	c.i64(f.weight())
	c.out = append(c.out, opI64Sub)
	c.op(opLocalTee, c.scratch())
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

// pushBoth pushes a value that is negative if the fuel or the depth is.
func (c *coder) pushBoth() {
	c.pushTemp()
	c.op(opLocalGet, c.scratch())
	c.out = append(c.out, opI64Or)
}

func (c *coder) pushTemp() { c.op(opLocalGet, c.temp) }

// exit writes the epilogue.
func (c *coder) exit() {
	if c.f.calls == 0 {
		return
	}
	c.giveBack()
	c.out = append(c.out, opEnd)
}

// giveBack restores the depth.
func (c *coder) giveBack() {
	c.op(opLocalGet, c.entryDepth())
	c.op(opGlobalSet, c.depth())
}

// change copies the body from from to an event, and applies the event. It returns the new position in the body.
func (c *coder) change(e *event, from uint32, early bool) uint32 {
	c.out = append(c.out, c.f.body[from:e.at]...)
	switch e.kind {
	case loopHead:
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
	case typed:
		c.out = append(c.out, c.f.body[e.at:e.end]...)
		c.assert(byte(e.arg))
	case simpler:
		c.out = append(c.out, c.simpler[e.arg:e.costSlot]...)
	case pay:
		c.payFor(e.at, e.shift)
		return e.at
	case pause:
		c.load(e.at)
		c.take(c.costs[e.costSlot])
		c.refillIf(c.pushTemp)
		return e.at
	case callFunc:
		c.op(opCall, c.shift(e.arg))
	case callTable:
		c.out = append(append(c.out, opCallIndirect), c.f.body[e.at+1:e.end]...)
	case tailFunc:
		c.giveBack()
		c.op(opTailCall, c.shift(e.arg))
	case tailTable:
		c.giveBack()
		c.out = append(c.out, c.f.body[e.at:e.end]...)
	case refFunc:
		c.out = wasmbin.AppendS64(append(c.out, opI32Const), int64(c.refs.entry(e.arg)))
		c.op(opTableGet, c.refTable())
	case leave:
		if c.f.calls > 0 {
			c.op(opBr, e.arg)
		} else {
			c.out = append(c.out, opReturn)
		}
	}
	return e.end
}

// assert makes the engine's validator check the type of the value on the top of the stack, which it omits for a typed
// select: an empty block takes the value and returns it.
func (c *coder) assert(typ byte) {
	c.out = wasmbin.AppendS64(append(c.out, opBlock), int64(c.types.index(string([]byte{typ}), string([]byte{typ}))))
	c.out = append(c.out, opEnd)
}

// load pushes the fuel, at a position in the body.
func (c *coder) load(at uint32) {
	if at < c.quiet {
		c.op(opLocalGet, c.temp)
	} else {
		c.op(opGlobalGet, c.fuel())
	}
}

// take subtracts a cost from the fuel on the stack, and leaves the rest in temp.
func (c *coder) take(cost int64) {
	c.i64(cost)
	c.store()
}

// store subtracts the top of the stack from the fuel below it, and stores the rest.
func (c *coder) store() {
	c.out = append(c.out, opI64Sub)
	c.op(opLocalTee, c.temp)
	c.op(opGlobalSet, c.fuel())
}

// refillIf calls refill if the value pushed by push is negative. The call is in the else branch: the compiler's
// register allocation continues from the first branch, and after a call it would reload all values.
func (c *coder) refillIf(push func()) {
	c.info.Checks++
	push()
	c.i64(0)
	c.out = append(c.out, opI64GeS, opIf, typeEmpty, opElse)
	c.op(opCall, c.refill())
	c.op(opLocalTee, c.temp)
	c.op(opGlobalSet, c.fuel())
	c.out = append(c.out, opEnd)
}

// payFor subtracts the i32 on the top of the stack, shifted, from the fuel, and leaves that i32 on the stack.
func (c *coder) payFor(at uint32, shift int8) {
	n := c.scratch()
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

// op appends an instruction with one index.
func (c *coder) op(op byte, index uint32) {
	c.out = binary.AppendUvarint(append(c.out, op), uint64(index))
}

// i64 appends a constant.
func (c *coder) i64(n int64) { c.out = wasmbin.AppendS64(append(c.out, opI64Const), n) }
