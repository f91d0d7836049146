package wasmbin

import "fmt"

// immediate is the kind of an opcode's immediates.
type immediate byte

const (
	unknown  immediate = iota
	none               // no immediate
	index              // an index, a label, a function
	twoIndex           // a type and a table
	access             // alignment and offset
	blockSig           // a block type
	branches           // a vector of labels and a default
	types              // a vector of one value type
	refType            // a reference type
	tryBlock           // a block type and a vector of catch clauses
	oneByte            // a memory index, 0
	leb32              // a signed number of 32 bits
	leb64              // a signed number of 64 bits
	four               // an f32
	eight              // an f64
	bulk               // the 0xfc family
	simd               // the 0xfd family
)

// opcodes is the immediate of every opcode of WebAssembly 2.0, of exceptions and of tail calls.
var opcodes = func() (t [256]immediate) {
	set := func(from, to int, i immediate) {
		for op := from; op <= to; op++ {
			t[op] = i
		}
	}
	set(0x00, 0x01, none)     // unreachable, nop
	set(0x02, 0x04, blockSig) // block, loop, if
	set(0x05, 0x05, none)     // else
	set(0x08, 0x08, index)    // throw
	set(0x0a, 0x0a, none)     // throw_ref
	set(0x0b, 0x0b, none)     // end
	set(0x0c, 0x0d, index)    // br, br_if
	set(0x0e, 0x0e, branches) // br_table
	set(0x0f, 0x0f, none)     // return
	set(0x10, 0x10, index)    // call
	set(0x11, 0x11, twoIndex) // call_indirect
	set(0x12, 0x12, index)    // return_call
	set(0x13, 0x13, twoIndex) // return_call_indirect
	set(0x1a, 0x1b, none)     // drop, select
	set(0x1c, 0x1c, types)
	set(0x1f, 0x1f, tryBlock)
	set(0x20, 0x26, index)   // variables and tables
	set(0x28, 0x3e, access)  // loads and stores
	set(0x3f, 0x40, oneByte) // memory.size, memory.grow
	set(0x41, 0x41, leb32)
	set(0x42, 0x42, leb64)
	set(0x43, 0x43, four)
	set(0x44, 0x44, eight)
	set(0x45, 0xc4, none)    // numbers
	set(0xd0, 0xd0, refType) // ref.null
	set(0xd1, 0xd1, none)    // ref.is_null
	set(0xd2, 0xd2, index)   // ref.func
	set(0xfc, 0xfc, bulk)
	set(0xfd, 0xfd, simd)
	return t
}()

// code decodes every function body and appends it in canonical encoding.
func (c *checker) code(r *reader, out []byte) []byte {
	n := r.count(2)
	if r.err == nil && n != c.b.Funcs {
		r.fail(ErrMalformed, "%d functions are declared but %d have code", c.b.Funcs, n)
	}
	out = appendU32(out, uint32(n))
	c.leaf = make([]int32, 0, n)
	f := function{c: c}
	for i := 0; i < n && r.err == nil && c.err == nil; i++ {
		size := r.u32()
		at := r.offset()
		body := r.bytes(size)
		if r.err == nil {
			f.check(i, &reader{b: body, base: at, what: "a function body"})
			out = AppendBytes(out, f.out)
			c.leaf = append(c.leaf, f.leaf())
		}
	}
	return out
}

// function is the state of checking one body.
type function struct {
	c      *checker
	r      *reader
	number int // in the index space of functions
	in     Instruction
	labels []label // the open blocks, the function itself outermost
	locals int     // including parameters

	flow flow

	out                           []byte // the canonical body
	instructions, straight, calls int
}

// flow counts the parts of a function's control flow that determine its compile cost.
type flow struct {
	blocks, heads, bulks, branches, targets, crossing int
	nesting, loops, ifs                               depth
	// chain is the number of consecutive straight parts since control flow last merged: the compiler searches back so
	// far for the value of a local. chained is the sum over all branches.
	chain, chained int
}

// leaf returns the result of Checked.Leaf for the function, -1 for none.
func (f *function) leaf() int32 {
	if f.calls > 0 || f.instructions > maxLeaf {
		return -1
	}
	return int32(f.straight)
}

func (f *function) check(i int, r *reader) {
	b := f.c.b
	sig := b.types[b.funcs[b.imported+i]]
	*f = function{c: f.c, r: r, in: Instruction{Labels: f.in.Labels, Catches: f.in.Catches}, number: b.imported + i, labels: append(f.labels[:0], label{op: 0x02, carries: sig.results}), out: f.out[:0]}
	f.over("the number of code bytes", len(r.b), f.c.l.Body)
	f.declareLocals(len(sig.params))
	for !r.done() && f.c.err == nil && len(f.labels) > 0 {
		f.instruction()
	}
	if r.err == nil && f.c.err == nil && (len(f.labels) > 0 || r.rest() > 0) {
		r.fail(ErrMalformed, "function %d does not end where its body does, at offset %d", f.number, r.offset())
	}
	f.c.note(r.err)
	f.over("the number of branches", f.flow.branches, f.c.l.Branches)
	if f.c.work += f.flow.work(f.locals); f.c.work > f.c.workLimit() {
		f.over("the work to compile it, up to and with the code", f.c.work, f.c.workLimit())
	}
}

// work estimates the compile cost of a function beyond its length, in units of about ten nanoseconds: the compiler
// is quadratic in some counts, which a few kilobytes of code can make large. A loop and a bulk instruction include the
// code that metering adds. The weights were measured.
func (f *flow) work(locals int) int {
	return 3*f.blocks*f.blocks +
		30*f.heads*f.heads +
		12*f.bulks*f.bulks +
		f.blocks*locals*locals/14 +
		90*locals*f.loops.most*(locals/50+f.loops.most) +
		3*locals*f.ifs.most*f.ifs.most +
		2*f.targets*f.nesting.most +
		locals*f.chained +
		100*f.crossing
}

// workLimit grows with the module: one byte of usual code costs about 35 units.
func (c *checker) workLimit() int { return c.l.Work + 100*len(c.b.wasm) }

func (f *function) over(what string, n, max int) {
	if n > max { // formats the text only if needed
		f.c.overInt(fmt.Sprintf("%s of function %d (at offset %d)", what, f.number, f.r.base), n, max)
	}
}

func (f *function) declareLocals(params int) {
	total, n := uint64(0), f.r.count(2)
	f.out = appendU32(f.out, uint32(n))
	for ; n > 0 && f.r.err == nil; n-- {
		count, typ := f.r.u32(), f.r.valueType()
		total += uint64(count)
		f.out = append(appendU32(f.out, count), typ)
		f.c.unwinds = f.c.unwinds || typ == ExnRef
	}
	if total > uint64(f.c.l.Locals) {
		f.c.over(fmt.Sprintf("the number of locals of function %d (at offset %d)", f.number, f.r.base),
			total, uint64(f.c.l.Locals))
		return
	}
	f.locals = params + int(total)
}

func (f *function) instruction() {
	r, in := f.r, &f.in
	r.next(in)
	if r.err != nil {
		return
	}
	f.out = in.Append(f.out)
	f.c.refersTo(in)
	if f.instructions++; f.flow.loops.now == 0 {
		f.straight++
	}
	switch in.Op {
	case 0x02, 0x03, 0x04: // block, loop, if
		f.open(in)
	case 0x1f: // try_table
		f.try(in)
	case 0x08, 0x0a: // throw, throw_ref
		f.throw(in)
	case 0x05:
		f.orElse()
	case 0x0b:
		f.end()
	case 0x0c, 0x0d: // br, br_if
		f.flow.branches++
		f.jump(in.X)
		f.flow.chain++
	case 0x0e:
		f.brTable()
	case 0x10:
		f.calls++
		f.callTo(in.X)
	case 0x11:
		f.calls++
		f.cross(in.X)
	case 0x12: // return_call
		f.calls++
		f.callTo(in.X)
		f.tail(f.c.b.funcType(in.X))
	case 0x13: // return_call_indirect
		f.calls++
		f.cross(in.X)
		f.tail(in.X)
	case 0x40: // memory.grow
		f.flow.bulks++
	case 0xfc:
		f.bulk()
	}
}

// bulk counts bulk instructions on memory or tables, and records tables that grow.
func (f *function) bulk() {
	switch f.in.Sub {
	case 8, 10, 11, 12, 14, 17:
		f.flow.bulks++
	case 15:
		f.flow.bulks++
		f.c.grown[f.in.X] = true
	}
}
