package wasmbin

// label is an open block.
type label struct {
	op      byte   // 0x02 block, 0x03 loop, 0x04 if, 0x05 its else, 0x1f try_table
	carries []byte // types of the values that a branch to it carries
	to      int    // number of branches to it
}

// depth is the current and the maximum nesting of a kind of block.
type depth struct{ now, most int }

func (d *depth) add(n int) {
	d.now += n
	d.most = max(d.most, d.now)
}

// open enters a block, and counts its parameters and results.
func (f *function) open(in *Instruction) {
	op := in.Op
	var sig funcType
	switch {
	case in.Typed:
		sig = f.signature(in.X)
	case in.Type != NoResult:
		sig.results = eachType[in.Type : in.Type+1]
	}
	f.flow.crossing += len(sig.params) + len(sig.results)
	carries := sig.results
	if op == 0x03 {
		carries = sig.params
	}
	f.labels = append(f.labels, label{op: op, carries: carries})
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

// eachType holds each type at its own index, so that a part of it is a list of one type.
var eachType = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
	}
	return t
}()

// try enters a try_table. A clause branches to a label outside of it, and must carry the values of that label.
func (f *function) try(in *Instruction) {
	f.c.unwinds = true
	for _, c := range in.Catches {
		f.flow.branches++
		if f.jump(c.Label); f.r.err != nil {
			return
		}
		var carries []byte
		if c.Tagged() {
			carries = f.tag(c.Tag)
		}
		if c.Referred() {
			carries = append(carries[:len(carries):len(carries)], ExnRef)
		}
		if to := f.labels[len(f.labels)-1-int(c.Label)].carries; string(to) != string(carries) {
			f.r.fail(ErrMalformed, "function %d catches % x for a label of % x before offset %d", f.number, carries, to, f.r.offset())
		}
	}
	f.open(in)
}

func (f *function) throw(in *Instruction) {
	f.c.unwinds = true
	if f.flow.branches++; in.Op == 0x08 {
		f.flow.crossing += len(f.tag(in.X))
	}
}

// tag returns the types of the values of a tag.
func (f *function) tag(x uint32) []byte {
	if f.r.err == nil && uint64(x) >= uint64(len(f.c.b.tags)) {
		f.r.fail(ErrMalformed, "function %d names tag %d of %d before offset %d", f.number, x, len(f.c.b.tags), f.r.offset())
	}
	if f.r.err != nil {
		return nil
	}
	return f.c.b.types[f.c.b.tags[x]].params
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
	f.flow.crossing += len(l.carries)
	f.flow.chained += f.flow.chain
}

func (f *function) brTable() {
	f.flow.branches++
	f.over("the number of targets of a br_table", len(f.in.Labels)-1, f.c.l.BrTable)
	for _, l := range f.in.Labels {
		f.jump(l)
	}
}

// funcType returns the type of a function, 0 if it does not exist.
func (b *Binary) funcType(fn uint32) uint32 {
	if uint64(fn) >= uint64(len(b.funcs)) {
		return 0
	}
	return b.funcs[fn]
}

func (f *function) callTo(fn uint32) {
	if uint64(fn) >= uint64(len(f.c.b.funcs)) {
		f.r.fail(ErrMalformed, "function %d calls function %d of %d", f.number, fn, len(f.c.b.funcs))
		return
	}
	f.cross(f.c.b.funcs[fn])
}

// tail checks that a call of a type can end the function: it returns the same results.
func (f *function) tail(t uint32) {
	sig, own := f.signature(t), f.c.b.types[f.c.b.funcs[f.number]].results
	if f.r.err == nil && string(sig.results) != string(own) {
		f.r.fail(ErrMalformed, "function %d returns % x, and ends in a call that returns % x, before offset %d", f.number, own, sig.results, f.r.offset())
	}
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
