package rewrite

import "github.com/sallyport-mcp/sallyport/runtime/wasmbin"

// dispatch is the head of a loop that holds the parts of a function, as Go's compiler writes each function: it opens a
// block for each part, and jumps to the part that a local numbers. All jumps of the function set that local and branch
// to the loop:
//
//	loop  block  block …  local.get P  br_table …  end part 0  end part 1 …  i32.const 7  local.set P  br loop
//
// A jump forward can branch to the end of the part's block instead, past the head and its fuel check: the code there
// belongs to the same turn of the loop, which is paid for.
type dispatch struct {
	local  uint32
	labels []uint32 // of the br_table, the default last
	blocks int      // opened by the head
	open   int      // of them still open
}

// jumps follows the instructions of a function to find dispatches and jumps.
type jumps struct {
	loop   int    // index in analysis.open of a loop whose head is being read, or 0
	blocks int    // that it opened so far
	local  uint32 // of the last local.get or local.set
	part   uint32 // that the last i32.const numbers
	last   byte   // the instruction before the current one, if it can be part of a head or a jump
	before byte   // the one before that
}

// follow notes the current instruction, after analysis.open is up to date.
func (a *analysis) follow() {
	in, j := &a.in, &a.jumps
	switch {
	case in.Op == opLoop && !in.Typed && in.Type == wasmbin.NoResult:
		j.loop, j.blocks = len(a.open)-1, 0
	case in.Op == opBlock && !in.Typed && in.Type == wasmbin.NoResult && (j.last == opLoop || j.last == opBlock):
		j.blocks++
	case in.Op == opLocalGet && (j.last == opLoop || j.last == opBlock):
		j.local = in.X
	case in.Op == opBrTable && j.last == opLocalGet && j.loop > 0:
		a.dispatch()
		j.loop = 0
	case in.Op == opI32Const:
		j.loop, j.part = 0, uint32(in.N)
	case in.Op == opLocalSet && j.last == opI32Const:
		j.local = in.X
	default:
		j.loop = 0
	}
	j.before, j.last = j.last, in.Op
}

// dispatch records the head that ends with the current br_table.
func (a *analysis) dispatch() {
	j := &a.jumps
	for i := range j.blocks {
		a.open[j.loop+1+i].head = j.loop
	}
	a.open[j.loop].dispatch = &dispatch{local: j.local, labels: append([]uint32(nil), a.in.Labels...), blocks: j.blocks, open: j.blocks}
}

// direct makes the current br a branch to the part that it dispatches to, if that is further on.
func (a *analysis) direct() {
	loop := len(a.open) - 1 - int(a.in.X)
	if j := &a.jumps; loop <= 0 || j.last != opLocalSet || j.before != opI32Const || a.open[loop].dispatch == nil || a.open[loop].dispatch.local != j.local {
		return
	}
	d := a.open[loop].dispatch
	label := d.labels[min(int64(a.jumps.part), int64(len(d.labels)-1))]
	if part := loop + d.blocks - int(label); part > loop && part <= loop+d.open {
		a.add(direct, 0, uint32(len(a.open)-1-part))
	}
}
