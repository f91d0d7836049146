package wasmbin

// label is an open block.
type label struct {
	op    byte // 0x02 block, 0x03 loop, 0x04 if, 0x05 its else
	arity int  // values that a branch to it carries
	to    int  // number of branches to it
}

// depth is the current and the maximum nesting of a kind of block.
type depth struct{ now, most int }

func (d *depth) add(n int) {
	d.now += n
	d.most = max(d.most, d.now)
}

// open enters a block, and counts its parameters and results.
func (f *function) open(in *Instruction) {
	op, params, results := in.Op, 0, 0
	switch {
	case in.Typed:
		sig := f.signature(in.X)
		params, results = len(sig.params), len(sig.results)
	case in.Type != NoResult:
		results = 1
	}
	f.flow.crossing += params + results
	arity := results
	if op == 0x03 {
		arity = params
	}
	f.labels = append(f.labels, label{op: op, arity: arity})
	f.flow.blocks++
	switch op {
	case 0x03:
		f.flow.heads++
		f.flow.chain = 0
	case 0x04:
		f.flow.chain++
	}
	f.flow.nest(op, 1)
	f.over("the nesting", f.flow.nesting.now, f.c.l.Nesting)
}

func (f *function) orElse() {
	last := &f.labels[len(f.labels)-1]
	if last.op != 0x04 {
		f.r.fail(ErrMalformed, "function %d has an else without an if before offset %d", f.number, f.r.offset())
	}
	last.op = 0x05
}

func (f *function) end() {
	last := f.labels[len(f.labels)-1]
	f.labels = f.labels[:len(f.labels)-1]
	if f.flow.chain++; last.to > 0 || last.op >= 0x04 { // control flow merges
		f.flow.chain = 0
	}
	f.flow.nest(last.op, -1)
}

func (f *flow) nest(op byte, n int) {
	f.nesting.add(n)
	switch op {
	case 0x03:
		f.loops.add(n)
	case 0x04, 0x05:
		f.ifs.add(n)
	}
}

func (f *function) jump(to uint32) {
	f.flow.targets++
	if f.r.err != nil {
		return
	}
	if uint64(to) >= uint64(len(f.labels)) {
		f.r.fail(ErrMalformed, "function %d branches out of itself before offset %d", f.number, f.r.offset())
		return
	}
	l := &f.labels[len(f.labels)-1-int(to)]
	l.to++
	f.flow.crossing += l.arity
	f.flow.chained += f.flow.chain
}

func (f *function) brTable() {
	f.flow.branches++
	f.over("the number of targets of a br_table", len(f.in.Labels)-1, f.c.l.BrTable)
	for _, l := range f.in.Labels {
		f.jump(l)
	}
}

func (f *function) callTo(fn uint32) {
	if uint64(fn) >= uint64(len(f.c.b.funcs)) {
		f.r.fail(ErrMalformed, "function %d calls function %d of %d", f.number, fn, len(f.c.b.funcs))
		return
	}
	f.cross(f.c.b.funcs[fn])
}

// cross counts the parameters and results of a call to a function of a type.
func (f *function) cross(t uint32) {
	sig := f.signature(t)
	f.flow.crossing += len(sig.params) + len(sig.results)
}

func (f *function) signature(t uint32) funcType {
	if f.r.err == nil && uint64(t) >= uint64(len(f.c.b.types)) {
		f.r.fail(ErrMalformed, "function %d names type %d of %d before offset %d", f.number, t, len(f.c.b.types), f.r.offset())
	}
	if f.r.err != nil {
		return funcType{}
	}
	return f.c.b.types[t]
}
