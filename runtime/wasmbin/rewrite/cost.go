package rewrite

// The costs of an instruction beyond the one unit that each has.
const (
	// tableCost is the cost of an indirect call, since the length of the function is unknown.
	tableCost = 10
	// hostCost is the cost of a host call: its minimum duration in instructions.
	hostCost = 200
	// pageShift is the cost of each page requested by memory.grow, as a shift to the left: 1,024.
	pageShift = 10
	// byteShift is the cost of bulk instructions, as a shift to the right: 1 for 16 bytes.
	byteShift = 4
)

// A straight part longer than maxRun checks the fuel again, so that code without loops runs for at most a millisecond
// or so between two checks. For this purpose only, a call counts with its maximum cost.
const (
	maxRun      = 1 << 15
	hostCallRun = 1 << 10
)

// The weight of a function's frame on the engine's stack: 1, plus 1 for each of these numbers.
const (
	weightLocals       = 16
	weightInstructions = 1024
	weightVectors      = 64 // instructions on vectors, whose values are large
)

// addCalls adds to the cost of each call the part that the called function does not count itself.
func (a *analysis) addCalls() {
	imported := uint32(a.b.ImportedFuncs())
	for _, e := range a.events {
		if e.kind != callFunc && e.kind != tailFunc {
			continue
		}
		if e.arg < imported {
			a.costs[e.costSlot] += hostCost
		} else if cost, ok := a.cheap(int(e.arg - imported)); ok {
			a.costs[e.costSlot] += cost
		}
	}
	a.f.checks = a.f.checks || !a.f.cheap
	a.joinEarly()
}

// joinEarly makes the first loop pay for the function's straight part, if every call reaches the loop and the loop
// costs more. The function then has one check instead of two; most functions of Go's compiler qualify.
func (a *analysis) joinEarly() {
	f := a.f
	if f.early < 0 {
		return
	}
	loop := a.events[f.early].costSlot
	if f.calls == 0 || a.costs[loop] < a.costs[straight] {
		f.early = -1
		return
	}
	a.costs[loop] += a.costs[straight]
}

// weight returns the depth that a call of the function takes.
func (f *function) weight() int64 {
	return 1 + int64(f.locals)/weightLocals + int64(f.instructions)/weightInstructions + int64(f.vectors)/weightVectors
}
