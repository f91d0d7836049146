package unwind_test

import (
	"math/rand/v2"

	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// program generates a module whose functions throw and catch in all ways: functions 0 to 5 of type (i32) -> i32, the
// first one exported, call each other with a smaller argument, and leave a trace in global 0.
type program struct {
	*rand.Rand
	m       w.Module
	labels  []bool // of the blocks around the current statement: whether it may branch there
	nesting int    // of statements
	refs    bool
	own     uint32 // the type of the functions
	pair    uint32 // the type of a block with the value of tag 0 and a reference
}

const (
	functions = 6
	argument  = 0 // locals
	caught    = 1
	reference = 2
)

func generate(seed uint64, refs bool) []byte {
	p := &program{Rand: rand.New(rand.NewPCG(seed, 1)), refs: refs}
	p.m.Tag(w.I32)
	p.m.Tag()
	if refs {
		p.m.Tag(w.F32)
		p.pair = p.m.Type(nil, []byte{w.I32, w.ExnRef})
	} else {
		p.m.Tag(w.I64, w.F64, w.I64, w.F32)
	}
	p.m.Global(w.I32, 0)
	p.m.Global(w.I32, 0) // turns of loops
	p.m.ExportRaw("trace", 3, 0)
	p.m.Table(functions, functions)
	all := make([]uint32, functions)
	p.own = p.m.Type([]byte{w.I32}, []byte{w.I32})
	for i := range all {
		last := byte(w.I32)
		if refs {
			last = w.ExnRef
		}
		all[i] = p.m.FuncRaw(p.own, []byte{2, 1, w.I32, 1, last}, p.block(3), w.LocalGet(argument), w.End)
	}
	p.m.Elements(0, all...)
	p.m.Export("run", 0)
	return p.m.Bytes()
}

// block returns some statements.
func (p *program) block(most int) (out []byte) {
	for range 1 + p.IntN(most) {
		out = append(out, p.statement()...)
	}
	return out
}

func (p *program) statement() []byte {
	p.nesting++
	defer func() { p.nesting-- }()
	if p.nesting > 5 {
		return p.note(w.I32Const(p.Int32N(100)))
	}
	switch p.IntN(10) {
	case 0:
		return p.when(p.throw())
	case 1:
		return p.call(w.Call(uint32(p.IntN(functions))))
	case 2:
		return p.call(w.Code(w.I32Const(p.Int32N(functions)), []byte{0x11}, w.U32(p.own), []byte{0}))
	case 3, 4:
		return p.try()
	case 8:
		return p.tail()
	case 5:
		return p.loop()
	case 6:
		return p.when(w.I32Const(p.Int32N(100)), w.Return)
	case 7:
		for to := range p.labels {
			if p.labels[len(p.labels)-1-to] && p.IntN(2) == 0 {
				return w.Code(p.condition(), w.BrIf(uint32(to)))
			}
		}
	}
	return p.note(w.LocalGet(argument))
}

// note adds a value to the trace.
func (p *program) note(value []byte) []byte {
	return w.Code(w.GlobalGet(0), w.I32Const(31), []byte{0x6c}, value, w.I32Add, w.GlobalSet(0))
}

// condition depends on the argument and the trace.
func (p *program) condition() []byte {
	return w.Code(w.GlobalGet(0), w.LocalGet(argument), w.I32Add, w.I32Const(1+p.Int32N(7)), []byte{0x71})
}

// when runs code under a condition.
func (p *program) when(code ...[]byte) []byte {
	return w.Code(p.condition(), w.IfVoid, w.Code(code...), w.End)
}

func (p *program) throw() []byte {
	switch p.IntN(3) {
	case 0:
		return w.Code(w.GlobalGet(0), w.Throw(0))
	case 1:
		return w.Throw(1)
	}
	if p.refs {
		return w.Code(w.GlobalGet(0), []byte{0xb2}, w.Throw(2)) // f32.convert_i32_s
	}
	return w.Code(w.I64Const(p.Int64()), []byte{0x44, 1, 2, 3, 4, 5, 6, 7, 8}, w.I64Const(p.Int64()), []byte{0x43, 1, 2, 3, 4}, w.Throw(2))
}

// call calls a function if the argument is positive, and notes its result.
func (p *program) call(instruction []byte) []byte {
	smaller := w.Code(w.LocalGet(argument), w.I32Const(1), []byte{0x6b})
	return w.Code(w.LocalGet(argument), w.I32Const(0), []byte{0x4a}, w.IfVoid, p.note(w.Code(smaller, instruction)), w.End)
}

// tail ends the function in a tail call, if the argument is positive.
func (p *program) tail() []byte {
	call := w.ReturnCall(uint32(p.IntN(functions)))
	if p.IntN(2) == 0 {
		call = w.Code(w.I32Const(p.Int32N(functions)), w.ReturnCallIndirect(p.own))
	}
	smaller := w.Code(w.LocalGet(argument), w.I32Const(1), []byte{0x6b})
	return p.when(w.LocalGet(argument), w.I32Const(0), []byte{0x4a}, w.IfVoid, smaller, call, w.End)
}

// within returns a block inside of some labels.
func (p *program) within(labels []bool, most int) []byte {
	n := len(p.labels)
	p.labels = append(p.labels, labels...)
	defer func() { p.labels = p.labels[:n] }()
	return p.block(most)
}

// loop repeats a block. All loops together have a few turns.
func (p *program) loop() []byte {
	body := p.within([]bool{false}, 2)
	return w.Code(w.LoopVoid, body, w.GlobalGet(1), w.I32Const(1), w.I32Add, w.GlobalSet(1), w.GlobalGet(1), w.I32Const(p.Int32N(12)), []byte{0x48}, w.BrIf(0), w.End)
}

// try catches the exceptions of a block in one of five ways, and notes them. Some are thrown again.
func (p *program) try() []byte {
	build := func(typ []byte, clauses [][]byte, caught []byte) []byte {
		inside := p.within([]bool{true, typ[0] == 0x40, true}, 3)
		return w.Code(w.BlockVoid, []byte{0x02}, typ, w.TryTable(0x40, clauses...), inside, w.End, w.Br(1), w.End, caught, p.within([]bool{true}, 1), w.End)
	}
	number, void := []byte{w.I32}, []byte{0x40}
	ways := 3
	if p.refs {
		ways = 5
	}
	again := w.Code(w.LocalGet(reference), w.ThrowRef)
	switch p.IntN(ways) {
	case 0:
		return build(number, [][]byte{w.Catch(0, 0)}, w.Code(w.LocalSet(caught), p.note(w.LocalGet(caught))))
	case 1:
		return build(void, [][]byte{w.Catch(1, 0), w.CatchAll(0)}, p.note(w.I32Const(7)))
	case 2:
		return build(number, [][]byte{w.Catch(1, 1), w.Catch(0, 0)}, w.Code(w.LocalSet(caught), p.when(p.throw())))
	case 3:
		return build(w.S64(int64(p.pair)), [][]byte{w.CatchRef(0, 0), w.CatchAll(1)},
			w.Code(w.LocalSet(reference), w.LocalSet(caught), p.note(w.LocalGet(caught)), p.when(again)))
	}
	return build([]byte{w.ExnRef}, [][]byte{w.CatchAllRef(0)}, w.Code(w.LocalSet(reference), p.call(w.Call(uint32(p.IntN(functions)))), p.when(again)))
}
