package rewrite

import "github.com/sallyport-mcp/sallyport/runtime/wasmbin"

// analysis is the state of analysing one function. It runs for one function at a time while writing, since the
// records of a large file would take many times its size, and reuses its buffers for the next one.
type analysis struct {
	*rewriter
	f      *function
	number uint32  // of the function, in its index space
	events []event // changes
	costs  []int64 // of the straight parts
	open   []block // the open blocks, the function itself first
	in     wasmbin.Instruction
	// begun is set after the first instruction that may leave the straight line from the function's start, or that
	// consumes fuel.
	begun bool
	run   int64 // length of the code so far, counted as for maxRun

	dispatch dispatch
	stretch  stretch // of pure instructions, up to the current one
	simpler  []byte  // code that replaces stretches
}

// block is an open block.
type block struct {
	slot  uint32 // index in costs of the current straight part
	event int    // index of a loop's loopHead event, or -1
	calls int    // calls made by the function before it
	mark  int64  // value of run at the last fuel check that dominates the code
}

// add records an event at the current instruction.
func (a *analysis) add(kind eventKind, shift int8, arg uint32) {
	a.events = append(a.events, event{kind, shift, uint32(a.in.Begin), uint32(a.in.End), arg, a.open[len(a.open)-1].slot})
}

// instruction analyses one instruction: its cost, the existence of its indices, and the changes it needs.
func (a *analysis) instruction() {
	in := &a.in
	pure := a.o.Simplify && purity[in.Op] != pureNone
	if !pure {
		a.flush()
	}
	a.pause()
	if pure {
		a.collect()
	}
	slot := a.open[len(a.open)-1].slot
	a.costs[slot]++
	switch in.Op {
	case opIf, opBr, opBrIf, opBrTable, opReturn, opCall, opCallIndirect, opTailCall, opTailIndirect, opMemoryGrow, opBulk:
		a.begun = true
	}
	switch in.Op {
	case opBlock, opLoop, opIf:
		a.begin(slot)
	case opElse: // a pause in the other branch does not count here
		if n := len(a.open); n > 1 {
			a.open[n-1].slot, a.open[n-1].mark = a.open[n-2].slot, a.open[n-2].mark
		}
	case opEnd:
		a.end()
	case opBr, opBrIf:
		a.label(in.X)
	case opBrTable:
		for _, l := range in.Labels {
			a.label(l)
		}
	case opReturn:
		a.add(leave, 0, uint32(len(a.open)-1))
	case opCall:
		a.calls(in.X)
		a.add(callFunc, 0, in.X)
	case opCallIndirect:
		a.f.calls++
		a.costs[slot] += tableCost
		a.run += hostCallRun
		a.knownType(in.X)
	case opTailCall:
		a.tailCall()
	case opTailIndirect:
		a.tailIndirect(slot)
	case opSelectTyped:
		a.add(typed, 0, uint32(in.Type))
	case opLocalGet, opLocalSet, opLocalTee:
		if in.X >= a.f.locals {
			a.malformed("a function names local %d of %d", in.X, a.f.locals)
		}
	case opGlobalGet, opGlobalSet:
		a.knownGlobal(in.X)
	case opTableSet:
		a.info.Uses.TableWrite = true
	case opMemoryGrow:
		a.info.Uses.MemoryGrow = true
		a.pays(-pageShift)
	case opRefFunc:
		a.shift(in.X)
		a.refs.entry(in.X)
		a.add(refFunc, 0, in.X)
	case opBulk:
		a.bulk()
	case opSIMD:
		a.f.vectors++
	}
}

// calls notes a call of a function.
func (a *analysis) calls(fn uint32) {
	a.f.calls++
	a.shift(fn)
	a.program.wait.calledBy(fn, a.number)
	a.program.clock.calledBy(fn, a.number)
	a.run += a.calledRun(fn)
}

func (a *analysis) begin(slot uint32) {
	if a.in.Typed {
		a.knownType(a.in.X)
	}
	if a.in.Op != opLoop {
		a.open = append(a.open, block{slot: slot, event: -1, mark: a.open[len(a.open)-1].mark})
		return
	}
	a.open = append(a.open, block{slot: uint32(len(a.costs)), event: len(a.events), calls: a.f.calls, mark: a.run})
	a.costs = append(a.costs, 1)
	a.f.checks = true
	if !a.begun {
		a.f.early, a.begun = len(a.events), true
	}
	a.add(loopHead, 0, 0)
}

// pause begins a new straight part if the current one is long.
func (a *analysis) pause() {
	top := &a.open[len(a.open)-1]
	if a.run++; a.run-top.mark <= maxRun {
		return
	}
	a.flush()
	top.slot, top.mark = uint32(len(a.costs)), a.run
	a.costs = append(a.costs, 0)
	a.f.checks = true
	a.add(pause, 0, 0)
}

// calledRun returns the most that a called function runs before its own fuel check.
func (a *analysis) calledRun(fn uint32) int64 {
	if int64(fn) < int64(a.b.ImportedFuncs()) {
		return hostCallRun
	}
	return int64(a.o.Leaf)
}

// end closes a block. A loop without calls is quiet: no other code changes the fuel while it runs.
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

// pays records an instruction whose cost depends on the number on the top of the stack.
func (a *analysis) pays(shift int8) {
	a.f.checks, a.f.pays = true, true
	a.add(pay, shift, 0)
}

func (a *analysis) label(l uint32) {
	if uint64(l) >= uint64(len(a.open)) {
		a.malformed("a function branches out of itself, before byte %d of its body", a.in.End)
	}
}
