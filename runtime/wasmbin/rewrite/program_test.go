package rewrite_test

import (
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// program generates a valid module from any bytes: each choice consumes one. Functions call only later ones and loops
// count down, so that it terminates. It exports run (i32, i64) -> (i32, i64), its memory and its globals.
type program struct {
	in     []byte
	m      w.Module
	fns    int   // functions, run first
	fn     int   // the current one
	labels []int // the open blocks: number of values that a branch carries, or -1 for a loop
	loops  int
	left   int // remaining instructions
}

// The locals of every function: its parameters, two of type i32, two of type i64, one for each open loop.
const (
	local32, local64, counters = 2, 4, 6
	maxLoops                   = 3
)

// generate returns the module.
func generate(in []byte) []byte {
	p := &program{in: in}
	p.fns = 1 + p.n(4)
	p.m.Memory(1, 3)
	p.m.Table(2, 4)
	p.m.Elements(0, uint32(p.fns-1))
	p.m.Global(w.I32, 5)
	p.m.Global(w.I64, 6)
	p.m.GlobalRaw(w.V128, 1, []byte{0xfd, 12}, make([]byte, 16))
	p.m.Data(8, []byte("some data")) // an active segment is dropped once it is copied, which the engine omits
	p.m.PassiveData([]byte("more data"))
	for p.fn = range p.fns {
		p.function()
	}
	p.m.Export("run", 0)
	for i, name := range []string{"a", "b"} {
		p.m.ExportRaw(name, 3, uint32(i))
	}
	p.m.ExportRaw("memory", 2, 0)
	return p.m.Bytes()
}

// n returns a choice below max; without remaining bytes it is 0.
func (p *program) n(max int) int {
	if len(p.in) == 0 {
		return 0
	}
	c := int(p.in[0])
	p.in = p.in[1:]
	return c % max
}

func (p *program) function() {
	p.left, p.labels = 300, p.labels[:0]
	results := []byte{w.I32}
	if p.fn == 0 {
		results = []byte{w.I32, w.I64}
	}
	locals := []byte{w.I32, w.I32, w.I64, w.I64, w.I32, w.I32, w.I32}
	p.m.Func([]byte{w.I32, w.I64}, results, locals, p.block(3), p.results())
}

// results pushes the results of the function.
func (p *program) results() []byte {
	if p.fn == 0 {
		return w.Code(p.i32(2), p.i64(2))
	}
	return p.i32(2)
}

// block returns some statements.
func (p *program) block(depth int) []byte {
	var out []byte
	for range 1 + p.n(5) {
		out = append(out, p.statement(depth)...)
	}
	return out
}

// inside generates code in an additional block.
func (p *program) inside(arity int, write func() []byte) []byte {
	p.labels = append(p.labels, arity)
	out := write()
	p.labels = p.labels[:len(p.labels)-1]
	return out
}

// leave is a conditional branch without values out of some block.
func (p *program) leave() []byte {
	condition := p.i32(1)
	at := p.n(max(len(p.labels), 1))
	if at >= len(p.labels) || p.labels[at] != 0 {
		return w.Code(condition, w.IfVoid, p.inside(0, p.results), w.Return, w.End)
	}
	label := uint32(len(p.labels) - 1 - at)
	if p.n(3) == 0 { // br_table
		return w.Code(w.BlockVoid, condition, []byte{0x0e, 2, 0}, w.U32(label+1), []byte{0}, w.End)
	}
	return w.Code(condition, w.BrIf(label))
}

func (p *program) statement(depth int) []byte {
	if p.left--; depth <= 0 || p.left < 0 {
		return w.Code(p.i32(1), w.LocalSet(local32))
	}
	below := func() []byte { return p.block(depth - 1) }
	switch p.n(17) {
	case 0:
		return w.Code(p.i32(depth), w.LocalSet(uint32(local32+p.n(2))))
	case 1:
		return w.Code(p.i64(depth), w.LocalSet(uint32(local64+p.n(2))))
	case 2:
		return w.Code(p.i32(depth), w.GlobalSet(0))
	case 3:
		return w.Code(p.i64(depth), w.GlobalSet(1))
	case 4:
		return w.Code(p.address(), p.i64(depth), w.I64Store(uint32(p.n(200))))
	case 5, 6:
		return w.Code(p.i32(depth), w.IfVoid, p.inside(0, below), w.Else, p.inside(0, below), w.End)
	case 7, 8:
		return p.loop(depth)
	case 9:
		return w.Code(w.BlockVoid, p.inside(0, below), w.End)
	case 10, 11:
		return p.leave()
	case 12:
		return w.Code(p.address(), p.i32(1), p.small(), []byte{0xfc, 11, 0}) // memory.fill
	case 13:
		return w.Code(p.address(), p.address(), p.small(), []byte{0xfc, 10, 0, 0}) // memory.copy
	case 14:
		return w.Code(p.address(), w.I32Const(0), w.I32Const(int32(p.n(9))), []byte{0xfc, 8, 1, 0}) // memory.init
	case 15:
		return p.tail()
	}
	return w.Code(p.i32(1), []byte{0xfd, 17}, w.GlobalGet(2), []byte{0xfd, 0xae, 1}, w.GlobalSet(2)) // i32x4.splat, add
}

// loop runs up to four times.
func (p *program) loop(depth int) []byte {
	if p.loops == maxLoops {
		return p.statement(0)
	}
	counter := uint32(counters + p.loops)
	p.loops++
	body := p.inside(-1, func() []byte { return p.block(depth - 1) })
	p.loops--
	return w.Code(w.I32Const(int32(1+p.n(4))), w.LocalSet(counter), w.LoopVoid, body,
		w.LocalGet(counter), w.I32Const(-1), w.I32Add, []byte{0x22}, w.U32(counter), w.BrIf(0), w.End)
}

// address is an address within the first page, and small a number of bytes.
func (p *program) address() []byte { return w.Code(p.i32(1), w.I32Const(0x7fff), []byte{0x71}) }
func (p *program) small() []byte   { return w.Code(p.i32(1), w.I32Const(0x3ff), []byte{0x71}) }

func (p *program) i32(depth int) []byte {
	if p.left--; depth <= 0 || p.left < 0 {
		return w.LocalGet([]uint32{0, local32, local32 + 1}[p.n(3)])
	}
	d := depth - 1
	switch p.n(20) {
	case 0, 1:
		return w.I32Const(int32(p.n(256)) - 9)
	case 2, 3, 4:
		return w.Code(p.i32(d), p.i32(d), []byte{byte(0x6a + p.n(15))}) // add to rotr, including divisions
	case 5:
		return w.Code(p.i32(d), p.i32(d), []byte{byte(0x46 + p.n(10))}) // comparisons
	case 6:
		return w.Code(p.i32(d), w.I32Eqz)
	case 7:
		return w.Code(p.i64(d), w.I32Wrap)
	case 8:
		return w.Code(p.address(), w.I32Load(uint32(p.n(200))))
	case 9:
		return w.Code(p.i32(d), []byte{0x04, w.I32}, p.inside(1, func() []byte { return p.i32(d) }), w.Else,
			p.inside(1, func() []byte { return p.i32(d) }), w.End)
	case 10:
		return w.Code([]byte{0x02, w.I32}, p.inside(1, func() []byte { return w.Code(p.i32(d), p.i32(d), w.BrIf(0)) }), w.End)
	case 11, 12:
		return p.call(d)
	case 13:
		return w.Code(p.i32(d), p.i32(d), p.i32(d), []byte{0x1b}) // select
	case 14:
		return w.Code(w.I32Const(int32(p.n(2))), w.MemoryGrow)
	case 15:
		return w.Code([]byte{0xd0, 0x70}, w.I32Const(int32(p.n(2))), []byte{0xfc, 15, 0}) // table.grow
	case 16:
		return w.Code(w.GlobalGet(2), []byte{0xfd, 27, byte(p.n(4))}) // i32x4.extract_lane
	case 17:
		return w.Code(p.i32(d), p.i32(d), p.i32(d), []byte{0x1c, 1, w.I32}) // a select with a type
	case 18:
		return w.Code(w.I32Const(1), p.reference(), []byte{0x26, 0}, w.I32Const(int32(p.n(2))), []byte{0x25, 0, 0xd1}) // table.set, table.get, ref.is_null
	}
	return w.GlobalGet(0)
}

// reference is null or the last function, which is also in the table.
func (p *program) reference() []byte {
	if p.n(2) == 0 {
		return []byte{0xd0, 0x70}
	}
	return w.Code([]byte{0xd2}, w.U32(uint32(p.fns-1)))
}

// call calls a later function.
func (p *program) call(depth int) []byte {
	if p.fn == p.fns-1 {
		return w.MemorySize
	}
	return p.later(depth, 0x10)
}

// tail ends the function in a tail call of a later one, under a condition.
func (p *program) tail() []byte {
	if p.fn == 0 || p.fn == p.fns-1 {
		return p.leave()
	}
	return w.Code(p.i32(1), w.IfVoid, p.inside(0, func() []byte { return p.later(1, 0x12) }), w.End)
}

// later calls a later function by an instruction, or by the one after it through the table, which also has an empty entry.
func (p *program) later(depth int, call byte) []byte {
	arguments := w.Code(p.i32(depth), p.i64(depth))
	if p.n(3) == 0 {
		last := p.m.Type([]byte{w.I32, w.I64}, []byte{w.I32})
		return w.Code(arguments, p.i32(0), w.I32Const(1), []byte{0x71, call + 1}, w.U32(last), []byte{0})
	}
	return w.Code(arguments, []byte{call}, w.U32(uint32(p.fn+1+p.n(p.fns-p.fn-1))))
}

func (p *program) i64(depth int) []byte {
	if p.left--; depth <= 0 || p.left < 0 {
		return w.LocalGet([]uint32{1, local64, local64 + 1}[p.n(3)])
	}
	d := depth - 1
	switch p.n(6) {
	case 0:
		return w.I64Const(int64(p.n(256)) << p.n(60))
	case 1, 2:
		return w.Code(p.i64(d), p.i64(d), []byte{byte(0x7c + p.n(15))})
	case 3:
		return w.Code(p.i32(d), []byte{0xac}) // i64.extend_i32_s
	case 4:
		return w.GlobalGet(1)
	}
	return w.Code(w.I32Const(int32(8*p.n(30))), []byte{0x29, 3, 0}) // i64.load
}
