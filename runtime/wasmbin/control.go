package wasmbin

// label is an open block.
type label struct {
	op    byte // 0x02 block, 0x03 loop, 0x04 if
	arity int  // values that a branch to it carries
}

// depth is how many blocks of a kind are open, and were open at most.
type depth struct{ now, most int }

func (d *depth) add(n int) {
	d.now += n
	d.most = max(d.most, d.now)
}

// open enters a block. The values that come in and go out are counted.
func (f *function) open(op byte) {
	params, results := 0, 0
	if t := f.r.u8(); t >= 0x40 && t < 0x80 { // the empty type or one value type, as a negative number
		if t != 0x40 {
			results = 1
		}
	} else if f.r.err == nil {
		f.r.pos--
		sig := f.signature(f.r.u32())
		params, results = len(sig.params), len(sig.results)
	}
	f.crossing += params + results
	arity := results
	if op == 0x03 {
		arity = params
	}
	f.labels = append(f.labels, label{op, arity})
	f.blocks++
	if op == 0x03 {
		f.heads++
	}
	f.nest(op, 1)
	f.over("the nesting", f.nesting.now, f.c.l.Nesting)
}

func (f *function) end() {
	last := f.labels[len(f.labels)-1]
	f.labels = f.labels[:len(f.labels)-1]
	f.nest(last.op, -1)
}

func (f *function) nest(op byte, n int) {
	f.nesting.add(n)
	switch op {
	case 0x03:
		f.loops.add(n)
	case 0x04:
		f.ifs.add(n)
	}
}

func (f *function) jump(to uint32) {
	f.targets++
	if f.r.err != nil {
		return
	}
	if uint64(to) >= uint64(len(f.labels)) {
		f.r.fail(ErrMalformed, "function %d branches out of itself before offset %d", f.number, f.r.offset())
		return
	}
	f.crossing += f.labels[len(f.labels)-1-int(to)].arity
}

func (f *function) brTable() {
	f.branches++
	n := f.r.count(1)
	f.over("the number of targets of a br_table", n, f.c.l.BrTable)
	for i := 0; i <= n && f.r.err == nil && f.c.err == nil; i++ {
		f.jump(f.r.u32())
	}
}

func (f *function) callTo(fn uint32) {
	if uint64(fn) >= uint64(len(f.c.b.funcs)) {
		f.r.fail(ErrMalformed, "function %d calls function %d of %d", f.number, fn, len(f.c.b.funcs))
		return
	}
	f.cross(f.c.b.funcs[fn])
}

// cross counts the values of a call to a function of a type.
func (f *function) cross(t uint32) {
	sig := f.signature(t)
	f.crossing += len(sig.params) + len(sig.results)
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
