package rewrite

// What an instruction costs beyond the one unit that each has.
const (
	// tableCost is for calls through a table: nobody knows how long the function is.
	tableCost = 10
	// hostCost is for calls to the host: the least that one takes, in the time of so many instructions.
	hostCost = 200
	// pageShift is for each page that memory.grow asks for, as a shift to the left: 1,024.
	pageShift = 10
	// byteShift is for instructions on many bytes, as a shift to the right: 1 for 16 bytes.
	byteShift = 4
)

// A straight part that is longer than maxRun looks at the fuel once more, so that no code without a loop runs for
// longer than a millisecond or so between two looks. For this only, a call counts as what it may cost at most.
const (
	maxRun      = 1 << 15
	hostCallRun = 1 << 10
)

// The weight of a function's frame on the engine's stack: 1, and 1 for so many of these.
const (
	weightLocals       = 16
	weightInstructions = 1024
	weightVectors      = 64 // instructions on vectors, whose values are large
)

// addCalls adds to the cost of each call what the function called does not count itself.
func (w *rewriter) addCalls(f *function) {
	imported := uint32(w.b.ImportedFuncs())
	for _, e := range w.events {
		if e.kind != callFunc {
			continue
		}
		if e.arg < imported {
			w.costs[e.costSlot] += hostCost
		} else if cost, ok := w.cheap(int(e.arg - imported)); ok {
			w.costs[e.costSlot] += cost
		}
	}
	f.checks = f.checks || !f.cheap
	w.joinEarly(f)
}

// joinEarly lets the first loop pay for the function's straight part, if it comes to that in any case and
// costs more itself. So a function has one check where it would have two; in code that Go's compiler makes, most do.
func (w *rewriter) joinEarly(f *function) {
	if f.early < 0 {
		return
	}
	loop := w.events[f.early].costSlot
	if f.calls == 0 || w.costs[loop] < w.costs[straight] {
		f.early = -1
		return
	}
	w.costs[loop] += w.costs[straight]
}

// cheap tells whether the straight part of a function that the module defines is paid for by its callers, and what it costs.
func (w *rewriter) cheap(i int) (cost int64, ok bool) {
	n, ok := w.b.Leaf(i)
	return n + 1, ok && n+1 <= int64(w.o.Leaf)
}

// weight is what a call of the function takes from the depth.
func (f *function) weight() int64 {
	return 1 + int64(f.locals)/weightLocals + int64(f.instructions)/weightInstructions + int64(f.vectors)/weightVectors
}
