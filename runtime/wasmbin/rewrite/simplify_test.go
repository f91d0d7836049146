package rewrite_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// Opcodes of the tests, besides those of wasmtest.
var (
	extendS, extendU = []byte{0xac}, []byte{0xad}
	i64Eqz           = []byte{0x50}
	add64, sub64     = []byte{0x7c}, []byte{0x7d}
	xor64, shl64     = []byte{0x85}, []byte{0x86}
	xor32, shl32     = []byte{0x73}, []byte{0x74}
	rotl32           = []byte{0x77}
	extend8          = []byte{0xc2} // i64.extend8_s, which no rule knows
)

func load(op byte, align, offset uint32) []byte {
	return w.Code([]byte{op}, w.U32(align), w.U32(offset))
}

// simplified returns the code of a function (i32, i64) -> result after simplification.
func simplified(t *testing.T, result byte, code []byte) []byte {
	t.Helper()
	var m w.Module
	m.Memory(1, 1)
	m.Func([]byte{w.I32, w.I64}, []byte{result}, nil, code)
	b, err := wasmbin.Read(m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c, err := wasmbin.Check(b, wasmbin.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := rewrite.Rewrite(c, rewrite.Options{Meter: true, Simplify: true})
	if err != nil {
		t.Fatal(err)
	}
	after, err := wasmbin.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range after.Sections() {
		if s.ID == wasmbin.SectionCode {
			d := wasmbin.NewDecoder(s.Data, s.Offset, "code")
			d.Count(2)
			body := d.Bytes(d.U32())
			return body[1 : len(body)-1] // without the empty list of locals and the end
		}
	}
	t.Fatal("got no code section, want one")
	return nil
}

func TestSimplify_replacesExpressions(t *testing.T) {
	x32, x64 := w.LocalGet(0), w.LocalGet(1)
	for _, test := range []struct {
		name         string
		result       byte
		before, want []byte
	}{
		{"a rotate becomes immediate", w.I32, w.Code(x32, w.I64Const(-25), w.I32Wrap, rotl32), w.Code(x32, w.I32Const(-25), rotl32)},
		{"a wrapped constant loses its upper half", w.I32, w.Code(w.I64Const(0x1_8000_0001), w.I32Wrap), w.I32Const(-0x7fff_ffff)},
		{"a constant is extended by its sign", w.I64, w.Code(w.I32Const(-1), extendS), w.I64Const(-1)},
		{"a constant is extended by zeros", w.I64, w.Code(w.I32Const(-1), extendU), w.I64Const(0xffff_ffff)},
		{"an address sum is narrowed", w.I32, w.Code(x64, w.I64Const(8), add64, w.I32Wrap), w.Code(x64, w.I32Wrap, w.I32Const(8), w.I32Add)},
		{"an extension under a sum goes", w.I32, w.Code(x32, extendU, w.I64Const(4), add64, x64, add64, w.I32Wrap),
			w.Code(x32, w.I32Const(4), w.I32Add, x64, w.I32Wrap, w.I32Add)},
		{"an index is narrowed", w.I32, w.Code(x32, extendU, x64, w.I64Const(66), shl64, add64, w.I32Wrap),
			w.Code(x32, x64, w.I32Wrap, w.I32Const(66), shl32, w.I32Add)},
		{"a narrow load stays narrow", w.I32, w.Code(x32, load(0x31, 0, 7), w.I32Wrap), w.Code(x32, load(0x2d, 0, 7))},
		{"a load of all bytes stays", w.I32, w.Code(x32, load(0x29, 3, 7), w.I32Wrap), w.Code(x32, load(0x29, 3, 7), w.I32Wrap)},
		{"a long shift stays", w.I32, w.Code(x64, w.I64Const(32), shl64, w.I32Wrap), w.Code(x64, w.I64Const(32), shl64, w.I32Wrap)},
		{"a sum of two stays", w.I32, w.Code(x64, x64, add64, w.I32Wrap), w.Code(x64, x64, add64, w.I32Wrap)},
		{"one extension remains", w.I64, w.Code(x32, extendU, x32, extendU, x32, extendU, xor64, xor64), w.Code(x32, x32, x32, xor32, xor32, extendU)},
		{"a signed extension stays", w.I64, w.Code(x32, extendU, x32, extendS, xor64), w.Code(x32, extendU, x32, extendS, xor64)},
		{"a negated comparison is turned", w.I32, w.Code(x64, w.I64Const(64), []byte{0x53}, w.I32Eqz), w.Code(x64, w.I64Const(64), []byte{0x59})},
		{"a comparison negated as a long is turned", w.I32, w.Code(x32, x32, []byte{0x49}, extendU, i64Eqz), w.Code(x32, x32, []byte{0x4f})},
		{"an extension cancels", w.I32, w.Code(x32, w.I32Eqz, extendU, w.I32Wrap), w.Code(x32, w.I32Eqz)},
		{"a value from before is wrapped first", w.I32, w.Code(x64, extend8, w.I64Const(8), sub64, w.I32Wrap),
			w.Code(x64, extend8, w.I32Wrap, w.I32Const(8), []byte{0x6b})},
		{"values from before stay in order", w.I32, w.Code(x64, extend8, x64, extend8, extend8, w.I64Const(8), sub64, sub64, w.I32Wrap),
			w.Code(x64, extend8, x64, extend8, extend8, w.I64Const(8), sub64, sub64, w.I32Wrap)},
	} {
		if got := simplified(t, test.result, test.before); !bytes.Equal(got, test.want) {
			t.Errorf("%s: %x: got %x, want %x", test.name, test.before, got, test.want)
		}
	}
}

// An extension of a value that is no i32 is invalid, also where the conversion cancels and nothing demands the type of the
// rest.
func TestSimplify_keepsInvalidCodeInvalid(t *testing.T) {
	for name, before := range map[string][]byte{
		"a value from before": w.Code([]byte{0x43, 0, 0, 0, 0}, extendU, w.I32Wrap),
		"a local":             w.Code(w.LocalGet(1), extendU, w.I32Wrap),
		"a local that is set": w.Code(w.LocalGet(1), []byte{0x22, 1}, extendS, w.I32Wrap),
		"a global":            w.Code(w.GlobalGet(0), extendS, w.I32Wrap),
		"a sum":               w.Code(w.LocalGet(1), extendU, w.I64Const(1), add64, w.I32Wrap),
		"a negation":          w.Code(w.LocalGet(1), extendU, i64Eqz),
		"both of a pair":      w.Code(w.LocalGet(1), extendU, w.LocalGet(1), extendU, xor64),
		"a constant":          w.Code(w.I64Const(1), extendU, w.I32Wrap),
		"a load":              w.Code(w.LocalGet(0), load(0x31, 0, 0), extendU, w.I32Wrap),
	} {
		var m w.Module
		m.Memory(1, 1)
		m.Global(w.I64, 0)
		m.Func([]byte{w.I32, w.I64}, nil, nil, before, w.Drop)
		out, _, err := rewriteWasm(m.Bytes(), rewrite.Options{Meter: true, Simplify: true})
		if err == nil {
			err = valid(t, out)
		}
		if err == nil {
			t.Errorf("%s: got %x for the invalid %x, want an invalid module", name, out, before)
		}
	}
}

// Every comparison is turned into its opposite, for all kinds of operands.
func TestSimplify_negatesEveryComparison(t *testing.T) {
	var m w.Module
	m.Memory(1, 1)
	for op := byte(0x46); op <= 0x5a; op++ {
		get := []byte{w.I32, w.I32}
		if op >= 0x51 {
			get = []byte{w.I64, w.I64}
		}
		if op != 0x50 {
			m.Export(fmt.Sprintf("%x", op), m.Func(get, []byte{w.I32}, nil, w.LocalGet(0), w.LocalGet(1), []byte{op}, w.I32Eqz))
		}
	}
	plain, simple := newVariant(t, m.Bytes(), nil), newVariant(t, m.Bytes(), &rewrite.Options{Meter: true, Simplify: true})
	values := []uint64{0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for name := range plain.ExportedFunctionDefinitions() {
		for _, a := range values {
			for _, b := range values {
				if want, got := plain.call(name, a, b), simple.call(name, a, b); got != want {
					t.Errorf("%s(%x, %x): got %s, want %s", name, a, b, got, want)
				}
			}
		}
	}
}

// variant is a module as it is, or rewritten.
type variant struct {
	api.Module
	h *host
}

// newVariant instantiates a module. No options means as it is.
func newVariant(t *testing.T, wasm []byte, o *rewrite.Options) *variant {
	t.Helper()
	ctx := context.Background()
	h, err := newHost(ctx, wazero.NewRuntimeConfigCompiler())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(ctx) })
	if o != nil {
		if wasm, _, err = rewriteWasm(wasm, *o); err != nil {
			t.Fatal(err)
		}
	}
	m, err := h.Instantiate(ctx, wasm)
	if err != nil {
		t.Fatalf("got %v, want a module that compiles\n%x", err, wasm)
	}
	return &variant{m, h}
}

// call returns the outcome of a call.
func (v *variant) call(name string, args ...uint64) string {
	results, err := v.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		trap, _, _ := strings.Cut(err.Error(), "\n")
		return trap
	}
	return fmt.Sprint(results)
}

// expressions generates expressions of the instructions that the rules know, from random choices.
type expressions struct{ *rand.Rand }

// Locals of the functions: the parameters, and one of each type for local.tee.
const (
	param32, param64, tee32, tee64 = 0, 1, 2, 3
)

func (x expressions) of(typ byte, depth int) []byte {
	if typ == w.I32 {
		return x.i32(depth)
	}
	return x.i64(depth)
}

// constant is near a boundary of some width.
func (x expressions) constant() int64 {
	return int64(1)<<x.IntN(64)*int64(1-2*x.IntN(2)) + int64(x.IntN(3)-1)
}

func (x expressions) i32(depth int) []byte {
	d := depth - 1
	if depth <= 0 {
		return [][]byte{w.LocalGet(param32), w.LocalGet(tee32), w.I32Const(int32(x.constant())), w.GlobalGet(0)}[x.IntN(4)]
	}
	switch x.IntN(12) {
	case 0, 1, 2, 3:
		return w.Code(x.i64(d), w.I32Wrap)
	case 4, 5:
		return w.Code(x.i32(d), x.i32(d), []byte{byte(0x6a + x.IntN(15))})
	case 6:
		return w.Code(x.i32(d), x.i32(d), []byte{byte(0x46 + x.IntN(10))})
	case 7:
		return w.Code(x.i64(d), x.i64(d), []byte{byte(0x51 + x.IntN(10))})
	case 8:
		return w.Code(x.i32(d), w.I32Eqz)
	case 9:
		return w.Code(x.i64(d), i64Eqz)
	case 10:
		return w.Code(x.address(d), load([]byte{0x28, 0x2c, 0x2d, 0x2e, 0x2f}[x.IntN(5)], 0, uint32(x.IntN(9))))
	}
	return w.Code(x.i32(d), []byte{0x22, tee32})
}

func (x expressions) i64(depth int) []byte {
	d := depth - 1
	if depth <= 0 {
		return [][]byte{w.LocalGet(param64), w.LocalGet(tee64), w.I64Const(x.constant()), w.GlobalGet(1)}[x.IntN(4)]
	}
	switch x.IntN(10) {
	case 0, 1, 2:
		return w.Code(x.i64(d), x.i64(d), []byte{byte(0x7c + x.IntN(15))})
	case 3:
		return w.Code(x.i64(d), x.i64(0), []byte{[]byte{0x7c, 0x7d, 0x7e, 0x83, 0x84, 0x85, 0x86}[x.IntN(7)]})
	case 4:
		return w.Code(x.i32(d), extendS)
	case 5, 6:
		return w.Code(x.i32(d), extendU)
	case 7:
		return w.Code(x.address(d), load(0x29, 0, uint32(x.IntN(9))))
	case 8:
		return w.Code(x.address(d), load(byte(0x30+x.IntN(6)), 0, uint32(x.IntN(9))))
	}
	return w.Code(x.i64(d), [][]byte{{0x22, tee64}, extend8}[x.IntN(2)])
}

// address is in most cases within the page.
func (x expressions) address(depth int) []byte {
	if x.IntN(8) == 0 {
		return x.i32(depth)
	}
	return w.Code(x.i32(depth), w.I32Const(0xfff), []byte{0x71})
}

// Expressions have the same values and traps after simplification, and spend the same fuel.
func TestSimplify_keepsValuesTrapsAndFuel(t *testing.T) {
	traps, changed := make(map[string]int), 0
	for seed := range uint64(12) {
		x := expressions{rand.New(rand.NewPCG(seed, 2))}
		var m w.Module
		m.Memory(1, 1)
		m.Global(w.I32, int64(int32(x.constant())))
		m.Global(w.I64, x.constant())
		page := make([]byte, 1<<12)
		for i := range page {
			page[i] = byte(x.Uint32())
		}
		m.Data(0, page)
		for i := range 100 {
			typ := []byte{w.I32, w.I64}[x.IntN(2)]
			m.Export(fmt.Sprint(i), m.Func([]byte{w.I32, w.I64}, []byte{typ}, []byte{w.I32, w.I64}, x.of(typ, 1+x.IntN(7))))
		}
		wasm := m.Bytes()
		plain := newVariant(t, wasm, nil)
		metered := newVariant(t, wasm, &rewrite.Options{Meter: true})
		simple := newVariant(t, wasm, &rewrite.Options{Meter: true, Simplify: true})
		a, _, _ := rewriteWasm(wasm, rewrite.Options{Meter: true})
		if b, _, _ := rewriteWasm(wasm, rewrite.Options{Meter: true, Simplify: true}); !bytes.Equal(a, b) {
			changed++
		}
		for i := range 100 {
			for range 5 {
				name, a, b := fmt.Sprint(i), uint64(uint32(x.constant())), uint64(x.constant())
				want, got := plain.call(name, a, b), simple.call(name, a, b)
				if metered.call(name, a, b); got != want || metered.h.spent(metered) != simple.h.spent(simple) {
					t.Fatalf("seed %d, function %d of (%x, %x): got %s and fuel %d, want %s and fuel %d", seed, i, a, b, got, simple.h.spent(simple), want, metered.h.spent(metered))
				}
				if strings.HasPrefix(want, "wasm error") {
					traps[want]++
				}
			}
		}
	}
	if len(traps) < 2 || changed != 12 {
		t.Errorf("got traps %v and %d changed modules, want 2 kinds of traps and 12 modules", traps, changed)
	}
	t.Log(traps)
}
