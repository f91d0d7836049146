package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// jump is a jump to a part by the local 0, out of so many blocks to the loop.
func jump(part int32, blocks uint32) []byte {
	return w.Code(w.I32Const(part), w.LocalSet(0), w.Br(blocks))
}

// dispatcher returns a loop with three parts and the code of the first; a br_table has the given labels.
func dispatcher(labels, code []byte) []byte { return parted(labels, code, nil, nil) }

// parted returns a loop with parts.
func parted(labels []byte, parts ...[]byte) []byte {
	code := w.Code(w.LoopVoid, w.Repeat(len(parts), w.BlockVoid), w.LocalGet(0), []byte{0x0e}, labels)
	for _, part := range parts {
		code = w.Code(code, w.End, part)
	}
	return w.Code(code, w.End, w.LocalGet(0))
}

func TestDispatch_jumpsForwardDirectly(t *testing.T) {
	inOrder := []byte{3, 0, 1, 2, 2}
	for _, test := range []struct {
		name         string
		labels       []byte
		before, want []byte
	}{
		{"to the next part", inOrder, jump(1, 2), w.Code(w.I32Const(1), w.LocalSet(0), w.Br(0))},
		{"to the last part", inOrder, jump(2, 2), w.Code(w.I32Const(2), w.LocalSet(0), w.Br(1))},
		{"to the default", inOrder, jump(-1, 2), w.Code(w.I32Const(-1), w.LocalSet(0), w.Br(1))},
		{"by the labels of the table", []byte{2, 1, 0, 2}, jump(0, 2), w.Code(w.I32Const(0), w.LocalSet(0), w.Br(0))},
		{"out of more blocks", inOrder, w.Code(w.LocalGet(0), w.IfVoid, w.BlockVoid, jump(2, 4), w.End, w.End),
			w.Code(w.LocalGet(0), w.IfVoid, w.BlockVoid, w.I32Const(2), w.LocalSet(0), w.Br(3), w.End, w.End)},
	} {
		got := simplifiedLoop(t, dispatcher(test.labels, test.before))
		if want := simplifiedLoop(t, dispatcher(test.labels, test.want)); !bytes.Equal(got, want) || !bytes.Contains(got, test.want) {
			t.Errorf("%s: got %x, want %x", test.name, got, want)
		}
	}
	for name, code := range map[string][]byte{
		"to the loop":              dispatcher([]byte{1, 3, 0}, jump(0, 2)),
		"out of the loop":          w.Code(w.BlockVoid, dispatcher([]byte{1, 4, 0}, jump(0, 2)), w.LocalSet(0), w.End, w.LocalGet(0)),
		"by another local":         dispatcher(inOrder, w.Code(w.I32Const(2), w.LocalSet(1), w.Br(2))),
		"by another value":         dispatcher(inOrder, w.Code(w.LocalGet(1), w.LocalSet(0), w.Br(2))),
		"with code between":        dispatcher(inOrder, w.Code(w.I32Const(2), w.LocalSet(0), []byte{0x01}, w.Br(2))),
		"in a condition":           dispatcher(inOrder, w.Code(w.LocalGet(1), w.I32Const(2), w.LocalSet(0), w.BrIf(2))),
		"to a block of that depth": dispatcher(inOrder, w.Code(w.End, w.End, w.BlockVoid, w.BlockVoid, jump(1, 2))),
		"in a loop with a result":  w.Code([]byte{0x03, w.I32}, w.BlockVoid, w.BlockVoid, w.LocalGet(0), []byte{0x0e, 1, 0, 1}, w.End, jump(1, 1), w.End, w.LocalGet(0), w.End),
		"to a head with more code": w.Code(w.LoopVoid, w.BlockVoid, []byte{0x01}, w.LocalGet(0), []byte{0x0e, 1, 0, 0}, w.End, w.End, w.LocalGet(0)),
	} {
		if got, want := simplifiedLoop(t, code), plainLoop(t, code); !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", name, got, want)
		}
	}
}

// A jump back becomes a loop of the parts that it runs.
func TestDispatch_jumpsBackInLoops(t *testing.T) {
	inOrder := []byte{4, 0, 1, 2, 3, 3}
	set := func(part int32) []byte { return w.Code(w.I32Const(part), w.LocalSet(0)) }
	condition, body := w.Code(w.LocalGet(1), w.IfVoid), w.Code(w.LocalGet(0), w.LocalSet(1))
	call, long := w.Code(w.LocalGet(0), w.Call(0), w.Drop), w.Repeat(2<<10, []byte{0x01})
	for _, test := range []struct {
		name         string
		before, want [4][]byte
	}{
		{"in one part", [4][]byte{nil, w.Code(body, condition, jump(1, 3), w.End), nil, nil},
			[4][]byte{nil, w.Code(body, condition, set(1), w.LoopVoid, body, condition, set(1), w.Br(1), w.End, w.End, w.Br(1), w.End), nil, nil}},
		{"without a condition", [4][]byte{w.Code(body, jump(0, 3)), nil, nil, nil},
			[4][]byte{w.Code(body, set(0), w.LoopVoid, body, set(0), w.Br(0), w.End, w.Br(0)), nil, nil, nil}},
		{"over parts, and out of them", [4][]byte{
			body,
			w.Code(condition, jump(2, 3), w.End, condition, jump(3, 3), w.End, condition, jump(0, 3), w.End),
			w.Code(condition, jump(0, 2), w.End),
			nil,
		}, [4][]byte{
			body,
			w.Code(condition, set(2), w.Br(1), w.End, condition, set(3), w.Br(2), w.End, condition, jump(0, 3), w.End),
			w.Code(condition, set(0), w.LoopVoid, w.BlockVoid, w.BlockVoid,
				body, w.End,
				condition, set(2), w.Br(1), w.End, condition, set(3), w.Br(4), w.End, condition, set(0), w.Br(2), w.End, w.End,
				condition, set(0), w.Br(1), w.End,
				w.End, w.Br(1), w.End),
			nil,
		}},
		{"inside of another", [4][]byte{nil, w.Code(condition, jump(1, 3), w.End), w.Code(condition, jump(0, 2), w.End), nil},
			[4][]byte{nil, w.Code(condition, set(1), w.LoopVoid, condition, set(1), w.Br(1), w.End, w.End, w.Br(1), w.End),
				w.Code(condition, jump(0, 2), w.End), nil}},
		{"around other branches",
			[4][]byte{w.Code(w.LocalGet(1), w.BrIf(0), w.LocalGet(1), w.BrIf(3), w.LocalGet(1), []byte{0x0e, 2, 0, 2, 3}), w.Code(condition, jump(0, 3), w.End), nil, nil},
			[4][]byte{
				w.Code(w.LocalGet(1), w.BrIf(0), w.LocalGet(1), w.BrIf(3), w.LocalGet(1), []byte{0x0e, 2, 0, 2, 3}),
				w.Code(condition, set(0), w.LoopVoid, w.BlockVoid,
					w.LocalGet(1), w.BrIf(0), w.LocalGet(1), w.BrIf(5), w.LocalGet(1), []byte{0x0e, 2, 0, 4, 5}, w.End,
					condition, set(0), w.Br(1), w.End,
					w.End, w.Br(1), w.End), nil, nil}},
		{"with a call where it is seldom made",
			[4][]byte{w.Code(condition, call, w.End, condition, jump(0, 4), w.End), nil, nil, nil},
			[4][]byte{w.Code(condition, call, w.End, condition, set(0), w.LoopVoid,
				condition, call, w.End, condition, set(0), w.Br(1), w.End, w.End, w.Br(1), w.End), nil, nil, nil}},
		{"with a call in each turn", [4][]byte{w.Code(call, condition, jump(0, 4), w.End), nil, nil, nil},
			[4][]byte{w.Code(call, condition, jump(0, 4), w.End), nil, nil, nil}},
		{"over too much code", [4][]byte{w.Code(long, condition, jump(0, 4), w.End), nil, nil, nil},
			[4][]byte{w.Code(long, condition, jump(0, 4), w.End), nil, nil, nil}},
		{"with a loop of its own", [4][]byte{w.Code(condition, w.LoopVoid, w.End, jump(0, 4), w.End), nil, nil, nil},
			[4][]byte{w.Code(condition, w.LoopVoid, w.End, jump(0, 4), w.End), nil, nil, nil}},
		{"out of too many blocks", [4][]byte{w.Code(w.Repeat(5, condition), jump(0, 8), w.Repeat(5, w.End)), nil, nil, nil},
			[4][]byte{w.Code(w.Repeat(5, condition), jump(0, 8), w.Repeat(5, w.End)), nil, nil, nil}},
		{"in the last part", [4][]byte{nil, nil, nil, w.Code(condition, jump(3, 1), w.End)}, [4][]byte{nil, nil, nil, w.Code(condition, jump(3, 1), w.End)}},
	} {
		got := simplifiedLoop(t, parted(inOrder, test.before[:]...))
		if want := plainLoop(t, parted(inOrder, test.want[:]...)); !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", test.name, got, want)
		}
	}
}

// A function gets a bounded number of loops: each of these is two blocks, of which the function has a hundred.
func TestDispatch_boundsTheLoops(t *testing.T) {
	const parts = 100
	labels := []byte{parts - 1}
	codes := make([][]byte, parts)
	for i := range codes {
		labels = append(labels, byte(i))
		codes[i] = w.Code(w.LocalGet(1), w.IfVoid, jump(int32(i), uint32(parts-i)), w.End)
	}
	const want = 1 + (32+parts/8)/2
	if n := bytes.Count(simplifiedLoop(t, parted(labels, codes...)), w.LoopVoid); n != want {
		t.Errorf("got %d loops for %d jumps back, want %d", n, parts, want)
	}
}

// simplifiedLoop and plainLoop return a function (i32) -> i32 with one more local, with and without simplification.
func simplifiedLoop(t *testing.T, code []byte) []byte {
	return loopWith(t, code, rewrite.Options{Meter: true, Simplify: true})
}

func plainLoop(t *testing.T, code []byte) []byte {
	return loopWith(t, code, rewrite.Options{Meter: true})
}

func loopWith(t *testing.T, code []byte, o rewrite.Options) []byte {
	t.Helper()
	var m w.Module
	m.Func([]byte{w.I32}, []byte{w.I32}, []byte{w.I32}, code)
	out, _, err := rewriteWasm(m.Bytes(), o)
	if err == nil {
		err = valid(t, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// machine generates functions as Go's compiler writes them: parts that jump to each other through a dispatch. A counter
// ends each.
type machine struct {
	*rand.Rand
	parts int
	table []byte // the labels
}

// Locals of a machine: the number of the part, the counter, and a sum.
const (
	partLocal, countLocal, sumLocal = 0, 1, 2
)

func (x *machine) function() []byte {
	x.parts = 2 + x.IntN(8)
	x.table = []byte{byte(x.parts + x.IntN(3))}
	for range x.table[0] + 1 {
		x.table = append(x.table, byte(x.IntN(x.parts)))
	}
	code := w.Code(w.LoopVoid, w.Repeat(x.parts, w.BlockVoid), w.LocalGet(partLocal), []byte{0x0e}, x.table)
	for part := range x.parts {
		code = w.Code(code, w.End, x.code(uint32(x.parts-1-part), 3))
	}
	return w.Code(code, w.End, w.LocalGet(sumLocal))
}

// code is the code of a part, or of a block in it, with so many blocks around it in the loop.
func (x *machine) code(around uint32, depth int) []byte {
	count := w.Code(w.LocalGet(countLocal), w.I32Const(1), []byte{0x6b, 0x22, countLocal}, w.I32Eqz, w.IfVoid, w.LocalGet(sumLocal), w.Return, w.End)
	sum := w.Code(w.LocalGet(sumLocal), w.I64Const(x.Int64()), [][]byte{{0x7c}, {0x85}, {0x89}}[x.IntN(3)], w.LocalSet(sumLocal))
	condition := w.Code(w.LocalGet(sumLocal), w.I64Const(int64(x.IntN(60))), w.I64Shr, w.I32Wrap, w.I32Const(1), []byte{0x71})
	part := int32(x.IntN(int(x.table[0]) + 2))
	out := w.Code(count, sum)
	for range 1 + x.IntN(3) {
		switch x.IntN(5) {
		case 0, 1:
			out = w.Code(out, condition, w.IfVoid, jump(part, around+1), w.End)
		case 2:
			if depth > 0 {
				out = w.Code(out, w.BlockVoid, x.code(around+1, depth-1), w.End)
			}
		case 3:
			if depth > 0 {
				out = w.Code(out, w.LoopVoid, x.code(around+1, depth-1), condition, w.BrIf(0), w.End)
			}
		case 4:
			out = w.Code(out, sum)
		}
	}
	if x.IntN(2) == 0 {
		out = w.Code(out, jump(part, around))
	}
	return out
}

// Machines compute the same with direct jumps, spend the same fuel in slices of all sizes, and less than without. Each loop
// that replaces a jump is an instruction more in the turn of the dispatch.
func TestDispatch_keepsTheBehaviourOfMachines(t *testing.T) {
	less := 0
	for seed := range uint64(6) {
		var m w.Module
		m.Memory(1, 1)
		for i := range 60 {
			x := &machine{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
			m.Export(fmt.Sprint(i), m.Func([]byte{w.I32, w.I32, w.I64}, []byte{w.I64}, nil, x.function()))
		}
		wasm := m.Bytes()
		plain, metered := newVariant(t, wasm, nil), newVariant(t, wasm, &rewrite.Options{Meter: true})
		simple, sliced := newVariant(t, wasm, &both), newVariant(t, wasm, &both)
		sliced.h.slice = 7
		for i := range 60 {
			for part := range uint64(4) {
				args := []uint64{part, 1 + 50*part, seed + part}
				name, had, has := fmt.Sprint(i), metered.h.spent(metered), simple.h.spent(simple)
				want, got := plain.call(name, args...), simple.call(name, args...)
				if again := sliced.call(name, args...); got != want || again != want {
					t.Fatalf("seed %d, machine %d of %d: got %s and %s, want %s", seed, i, args, got, again, want)
				}
				metered.call(name, args...)
				all, direct := metered.h.spent(metered)-had, simple.h.spent(simple)-has
				if direct > all+all/10 || sliced.h.spent(sliced) != simple.h.spent(simple) {
					t.Fatalf("seed %d, machine %d of %d: got fuel %d, and %d in slices of 7; want the same, and at most %d", seed, i, args,
						simple.h.spent(simple), sliced.h.spent(sliced), all+all/10)
				}
				if direct < all {
					less++
				}
			}
		}
	}
	if less < 200 {
		t.Errorf("got %d calls that spend less, want 200", less)
	}
}

// A machine that never returns is ended by its fuel, for all ways in which its parts jump.
func TestDispatch_endlessMachinesEnd(t *testing.T) {
	for _, parts := range [][]int32{{0}, {1, 0}, {2, 2, 0}, {1, 2, 1}, {2, 0, 1}} {
		code := w.Code(w.LoopVoid, w.Repeat(len(parts), w.BlockVoid), w.LocalGet(0), []byte{0x0e, byte(len(parts))})
		for i := range parts {
			code = append(code, byte(i))
		}
		code = append(code, 0)
		for i, to := range parts {
			code = w.Code(code, w.End, jump(to, uint32(len(parts)-1-i)))
		}
		var m w.Module
		m.Export("run", m.Func([]byte{w.I32}, nil, nil, code, w.End))
		v := newVariant(t, m.Bytes(), &both)
		v.h.refills = 10
		if _, err := v.ExportedFunction("run").Call(context.Background(), 0); !errors.Is(err, errFuel) {
			t.Errorf("parts %v: got %v, want %v", parts, err, errFuel)
		}
	}
}
