package unwind

import "github.com/sallyport-mcp/sallyport/runtime/wasmbin"

// callGraph is the calls of a module. Its nodes are the functions and, after them, the types: a function calls the type
// of a call_indirect, and a type calls each function of it.
type callGraph struct {
	functions int
	same      []uint32 // the first type that is equal to each type
	edges     []edge
	last      []uint32 // the last caller of each node, plus one
}

// add records a call, once for each caller.
func (g *callGraph) add(caller, callee uint32) {
	if g.last[callee] != caller+1 {
		g.last[callee] = caller + 1
		g.edges = append(g.edges, edge{caller, callee})
	}
}

type edge struct{ caller, callee uint32 }

// typeNode returns the node of a type.
func (g *callGraph) typeNode(typ uint32) uint32 { return uint32(g.functions) + g.same[typ] }

// survey finds the functions that an exception may leave, the exception references, and the number of globals.
func (l *lowering) survey() {
	l.calls = callGraph{functions: l.functions(), same: make([]uint32, l.m.Types())}
	first := make(map[string]uint32)
	for typ := range uint32(l.m.Types()) {
		params, results, _ := l.m.Signature(typ)
		key := string(plainTypes(params)) + ">" + string(plainTypes(results))
		if _, ok := first[key]; !ok {
			first[key] = typ
		}
		l.calls.same[typ] = first[key]
		for _, t := range append(params[:len(params):len(params)], results...) {
			l.refers = l.refers || t == wasmbin.ExnRef
		}
	}
	l.throws = make([]bool, l.functions()+l.m.Types())
	l.calls.last = make([]uint32, len(l.throws))
	for fn := range uint32(l.functions()) {
		typ, _ := l.m.FuncType(fn)
		l.calls.add(l.calls.typeNode(typ), fn)
	}
	l.countGlobals()
	l.eachFunction(l.surveyFunction)
	l.spread()
}

// countGlobals finds the index of the first global to add.
func (l *lowering) countGlobals() {
	for _, i := range l.m.Imports {
		if i.Kind == wasmbin.Global {
			l.exception++
		}
	}
	if s, ok := l.section(wasmbin.SectionGlobal); ok {
		l.exception += uint32(wasmbin.NewDecoder(s.Data, s.Offset, "the global section").Count(4))
	}
}

// section returns a section of the module.
func (l *lowering) section(id byte) (wasmbin.RawSection, bool) {
	for _, s := range l.m.Sections() {
		if s.ID == id {
			return s, true
		}
	}
	return wasmbin.RawSection{}, false
}

// eachFunction calls f for the body of each defined function.
func (l *lowering) eachFunction(f func(fn uint32, body []byte, at int)) {
	s, ok := l.section(wasmbin.SectionCode)
	if !ok {
		return
	}
	d := wasmbin.NewDecoder(s.Data, s.Offset, "the code section")
	n := d.Count(2)
	for i := 0; i < n && d.Err() == nil && l.err == nil; i++ {
		size := d.U32()
		at := d.Offset()
		f(uint32(l.m.ImportedFuncs()+i), d.Bytes(size), at)
	}
	l.note(d.Err())
}

// surveyFunction notes the calls and the throws of a function.
func (l *lowering) surveyFunction(fn uint32, body []byte, at int) {
	d := wasmbin.NewDecoder(body, at, "a function body")
	for n := d.Count(2); n > 0 && d.Err() == nil; n-- {
		d.U32()
		typ := d.ValueType()
		l.refers = l.refers || typ == wasmbin.ExnRef
	}
	var in wasmbin.Instruction
	for !d.Done() && d.Next(&in) {
		switch in.Op {
		case opCall, opTailCall:
			if uint64(in.X) < uint64(l.functions()) {
				l.calls.add(fn, in.X)
			}
		case opCallIndirect, opTailIndirect:
			if uint64(in.X) < uint64(l.m.Types()) {
				l.calls.add(fn, l.calls.typeNode(in.X))
			}
		case opThrow:
			l.throws[fn] = true
		case opThrowRef:
			l.throws[fn], l.refers = true, true
		case opRefNull, opSelectTyped:
			l.refers = l.refers || in.Type == wasmbin.ExnRef
		case opTryTable:
			for _, c := range in.Catches {
				l.refers = l.refers || c.Referred()
			}
		}
	}
	l.note(d.Err())
}

// spread marks the callers of everything that may throw.
func (l *lowering) spread() {
	callers := make([]int32, len(l.throws)+1) // the edges of each callee, as ranges of from
	for _, e := range l.calls.edges {
		callers[e.callee+1]++
	}
	for i := range len(l.throws) {
		callers[i+1] += callers[i]
	}
	from, next := make([]uint32, len(l.calls.edges)), append([]int32(nil), callers...)
	for _, e := range l.calls.edges {
		from[next[e.callee]] = e.caller
		next[e.callee]++
	}
	var queue []uint32
	for i, yes := range l.throws {
		if yes {
			queue = append(queue, uint32(i))
		}
	}
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, caller := range from[callers[at]:callers[at+1]] {
			if !l.throws[caller] {
				l.throws[caller] = true
				queue = append(queue, caller)
			}
		}
	}
	l.calls.edges, l.calls.last = nil, nil
}
