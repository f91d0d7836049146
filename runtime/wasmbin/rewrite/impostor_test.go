package rewrite_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

var impostorSeeds = flag.Uint64("impostors", 4, "number of generated modules of impostors")

// impostor generates functions that look like Go's dispatch and are not: with other labels in the table, jumps in dead code,
// values left on the stack, branches and tables of their own, and dispatches within dispatches.
type impostor struct {
	*rand.Rand
	table []uint32 // the labels
}

// function returns code of (i32 P, i32 count, i64 sum) -> i64, with the locals 3 (i32) and 4 (i64).
func (x *impostor) function() []byte {
	outer := x.IntN(3)
	body := w.Code(w.Repeat(outer, w.BlockVoid), x.dispatch(uint32(outer), 2))
	for range outer {
		body = w.Code(body, x.straight(), w.End)
	}
	return w.Code(body, w.LocalGet(2))
}

// dispatch returns a loop with parts, with so many void labels around it.
func (x *impostor) dispatch(around uint32, depth int) []byte {
	saved := x.table
	defer func() { x.table = saved }()
	parts := 1 + x.IntN(7)
	x.table = nil
	for range 1 + parts + x.IntN(3) {
		label := uint32(x.IntN(parts))
		if x.IntN(4) == 0 {
			label = uint32(x.IntN(parts + 1 + int(around)))
		}
		if label == uint32(parts) { // the loop itself, in which nothing counts
			label = 0
		}
		x.table = append(x.table, label)
	}
	code := w.Code(w.LoopVoid, w.Repeat(parts, w.BlockVoid))
	if x.IntN(12) == 0 {
		code = w.Code(code, []byte{1})
	}
	code = w.Code(code, w.LocalGet(0), []byte{0x0e}, w.U32(uint32(len(x.table)-1)))
	for _, l := range x.table {
		code = append(code, w.U32(l)...)
	}
	if x.IntN(4) == 0 { // dead
		code = w.Code(code, x.jump(uint32(parts)))
	}
	for part := range parts {
		code = w.Code(code, w.End, x.code(uint32(parts-1-part), around+1, depth))
	}
	return w.Code(code, w.End)
}

func (x *impostor) straight() []byte {
	return w.Code(w.LocalGet(2), w.I64Const(x.Int64()), [][]byte{{0x7c}, {0x85}, {0x89}}[x.IntN(3)], w.LocalSet(2))
}

func (x *impostor) count() []byte {
	return w.Code(w.LocalGet(1), w.I32Const(1), []byte{0x6b, 0x22, 1}, w.I32Eqz, w.IfVoid, w.LocalGet(2), w.Return, w.End)
}

func (x *impostor) condition() []byte {
	return w.Code(w.LocalGet(2), w.I64Const(int64(x.IntN(60))), w.I64Shr, w.I32Wrap, w.I32Const(1), []byte{0x71})
}

func (x *impostor) jump(to uint32) []byte {
	part := int32(x.IntN(len(x.table) + 1))
	if x.IntN(9) == 0 {
		part = -1
	}
	set := w.Code(w.I32Const(part), w.LocalSet(0))
	switch x.IntN(12) {
	case 0:
		set = w.Code(set, w.I32Const(part+1), w.LocalSet(3))
	case 1:
		set = w.Code(w.I32Const(part), []byte{0x22, 0}, w.LocalSet(3))
	case 2:
		set = w.Code(w.LocalGet(3), w.LocalSet(0))
	case 3:
		set = w.Code(w.I32Const(part+1), set)
		return w.Code(set, w.Br(to))
	}
	return w.Code(set, w.Br(to))
}

// code returns code with in blocks around it within the loop, and out of them outside, the loop included.
func (x *impostor) code(in, out uint32, depth int) []byte {
	any := func() uint32 { return uint32(x.IntN(int(in + out))) }
	code := w.Code(x.count(), x.straight())
	loop := in // the label of the dispatch
	for range 1 + x.IntN(4) {
		switch n := x.IntN(16); {
		case n < 3:
			code = w.Code(code, x.condition(), w.IfVoid, x.jump(loop+1), w.End)
		case n == 3:
			code = w.Code(code, x.condition(), w.IfVoid, x.straight(), x.jump(loop+1), w.Else, x.straight(), x.jump(loop+1), w.End)
		case n == 4:
			code = w.Code(code, x.condition(), w.BrIf(any()))
		case n == 5:
			code = w.Code(code, w.LocalGet(2), w.I32Wrap, []byte{0x0e, 2}, w.U32(any()), w.U32(any()), w.U32(any()))
		case n == 6: // a value on the stack below a jump, in a block with a parameter and a result
			code = w.Code(code, w.LocalGet(2), w.I64Const(x.Int64()), []byte{0x02, 1}, x.condition(), w.IfVoid, x.jump(loop+2), w.End, w.I64Const(3), []byte{0x7c}, w.End, []byte{0x85}, w.LocalSet(2))
		case n == 7:
			code = w.Code(code, w.LocalGet(2), w.Call(uint32(x.IntN(2))), w.LocalSet(2))
		case n == 8:
			code = w.Code(code, x.condition(), w.IfVoid, w.LocalGet(2), w.Call(uint32(x.IntN(2))), w.LocalSet(2), w.End)
		case n == 9 && depth > 0:
			code = w.Code(code, w.BlockVoid, x.code(in+1, out, depth-1), w.End)
		case n == 10 && depth > 0:
			code = w.Code(code, w.LoopVoid, x.code(in+1, out, depth-1), x.condition(), w.BrIf(0), w.End)
		case n == 11 && depth > 0:
			code = w.Code(code, x.condition(), w.IfVoid, x.code(in+1, out, depth-1), w.Else, x.code(in+1, out, depth-1), w.End)
		case n == 12 && depth > 0:
			code = w.Code(code, x.dispatch(in+out, depth-1))
		case n == 13:
			code = w.Code(code, w.Br(any()), x.straight())
		case n == 14:
			code = w.Code(code, x.condition(), w.IfVoid, w.LocalGet(2), w.Return, w.End)
		default:
			code = w.Code(code, w.I32Const(int32(x.IntN(9))), w.LocalSet(0))
		}
	}
	if x.IntN(2) == 0 {
		code = w.Code(code, x.jump(loop))
	}
	return code
}

// Functions that look like a dispatch compute the same, for the same fuel in slices of all sizes.
func TestDispatch_keepsTheBehaviourOfImpostors(t *testing.T) {
	for seed := range *impostorSeeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { impostors(t, seed) })
		if t.Failed() {
			return
		}
	}
}

func impostors(t *testing.T, seed uint64) {
	const functions = 80
	var m w.Module
	m.Memory(1, 1)
	one := []byte{w.I64}
	m.Func(one, one, nil, w.LocalGet(0), w.I64Const(1), []byte{0x7c})
	m.Func(one, one, nil, w.LoopVoid, w.LocalGet(0), w.I64Const(3), []byte{0x7e}, w.LocalSet(0), w.End, w.LocalGet(0))
	for i := range functions {
		x := &impostor{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		m.Export(fmt.Sprint(i), m.Func([]byte{w.I32, w.I32, w.I64}, one, []byte{w.I32, w.I64}, x.function()))
	}
	wasm := m.Bytes()
	plain, simple, sliced := newVariant(t, wasm, nil), newVariant(t, wasm, &both), newVariant(t, wasm, &both)
	sliced.h.slice = 7
	for i := range functions {
		for part := range uint64(6) {
			args := []uint64{part, 1 + 40*part, seed + part}
			want, got := plain.call(fmt.Sprint(i), args...), simple.call(fmt.Sprint(i), args...)
			if again := sliced.call(fmt.Sprint(i), args...); got != want || again != want {
				t.Fatalf("impostor %d of %d: got %s and %s, want %s", i, args, got, again, want)
			}
			if a, b := simple.h.spent(simple), sliced.h.spent(sliced); a != b {
				t.Fatalf("impostor %d of %d: got fuel %d, and %d in slices of 7; want the same", i, args, a, b)
			}
		}
	}
}
