package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"

	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// tailGuest instantiates a rewritten module.
func tailGuest(t *testing.T, m *w.Module) (*host, *guest) {
	t.Helper()
	h, err := newHost(context.Background(), wazero.NewRuntimeConfig().WithCoreFeatures(features))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	g, err := h.load(context.Background(), m.Bytes(), wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	return h, g
}

// digits returns a function's code that reads its parameters, integers and then floats, as digits of a number.
func digits(ints, floats int) []byte {
	out := w.I64Const(0)
	for i := range ints + floats {
		out = w.Code(out, w.I64Const(31), []byte{0x7e}, w.LocalGet(uint32(i)))
		if i >= ints {
			out = append(out, 0xb0) // i64.trunc_f64_s
		}
		out = append(out, 0x7c)
	}
	return out
}

// pushed pushes a number as an integer or a float.
func pushed(n int, float bool) []byte {
	if float {
		return w.Code(w.I64Const(int64(n)), []byte{0xb9}) // f64.convert_i64_s
	}
	return w.I64Const(int64(n))
}

// TestRewrite_tailCallsPassAllParameters calls functions of all numbers of parameters, from one with none and from one with
// as many. The engine's own tail calls through a table lose the seventh integer.
func TestRewrite_tailCallsPassAllParameters(t *testing.T) {
	for _, floats := range []int{0, 1, 7, 8, 9, 12} {
		for ints := range 13 {
			params := w.Code(w.Repeat(ints, []byte{w.I64}), w.Repeat(floats, []byte{w.F64}))
			var m w.Module
			m.Table(1, 1)
			callee := m.Func(params, []byte{w.I64}, nil, digits(ints, floats))
			typ := m.Type(params, []byte{w.I64})
			m.Elements(0, callee)
			var numbers, own []byte
			want := int64(0)
			for i := range ints + floats {
				numbers, own = append(numbers, pushed(i+1, i >= ints)...), append(own, w.LocalGet(uint32(i))...)
				want = want*31 + int64(i+1)
			}
			direct, table := w.ReturnCall(callee), w.Code(w.I32Const(0), w.ReturnCallIndirect(typ))
			for name, call := range map[string][]byte{"direct": direct, "table": table} {
				m.Export(name, m.Func(nil, []byte{w.I64}, nil, numbers, call))
				m.Export(name+" from as many", m.Func(nil, []byte{w.I64}, nil, numbers, w.Call(m.Func(params, []byte{w.I64}, nil, own, call))))
			}
			_, g := tailGuest(t, &m)
			for _, name := range []string{"direct", "table", "direct from as many", "table from as many"} {
				got, err := g.ExportedFunction(name).Call(context.Background())
				if err != nil || int64(got[0]) != want {
					t.Errorf("%s, %d integers and %d floats: got %v, %v, want %d", name, ints, floats, got, err, want)
				}
			}
		}
	}
}

// countdown returns a module whose run calls itself with one less, in a tail call, until its first parameter is zero.
func countdown(params int, call func(self, typ uint32) []byte) *w.Module {
	var m w.Module
	m.Table(1, 1)
	m.Elements(0, 0)
	types := w.Repeat(params, []byte{w.I64})
	typ := m.Type(types, []byte{w.I64})
	code := w.Code(w.LocalGet(0), []byte{0x50}, w.IfVoid, w.I64Const(7), w.Return, w.End, w.LocalGet(0), w.I64Const(1), []byte{0x7d})
	for i := range params - 1 {
		code = w.Code(code, w.LocalGet(uint32(i+1)))
	}
	m.Export("run", m.FuncRaw(typ, []byte{0}, code, call(0, typ), w.End))
	return &m
}

// A million tail calls are metered, and take no depth; if a parameter has no register they take it, as calls do.
func TestRewrite_tailCallsAreMeteredAndTakeNoDepth(t *testing.T) {
	ways := map[string]func(self, typ uint32) []byte{
		"direct": func(self, _ uint32) []byte { return w.ReturnCall(self) },
		"table":  func(_, typ uint32) []byte { return w.Code(w.I32Const(0), w.ReturnCallIndirect(typ)) },
	}
	const turns = 1_000_000
	for name, way := range ways {
		for _, params := range []int{1, 6, 7} {
			t.Run(fmt.Sprint(name, params), func(t *testing.T) {
				h, g := tailGuest(t, countdown(params, way))
				args := make([]uint64, params)
				args[0] = turns
				got, err := g.ExportedFunction("run").Call(context.Background(), args...)
				if params > 6 || name == "table" && !both.TailIndirect {
					if !errors.Is(err, errDepth) {
						t.Errorf("got %v, %v, want %v", got, err, errDepth)
					}
					return
				}
				if err != nil || got[0] != 7 {
					t.Fatalf("got %v, %v, want 7", got, err)
				}
				if fuel := h.spent(g); fuel < 5*turns {
					t.Errorf("got %d units of fuel, want at least %d", fuel, 5*turns)
				}
				if left := g.ExportedGlobal("sallyport:depth").Get(); left != maxDepth {
					t.Errorf("got a depth of %d afterwards, want %d", left, maxDepth)
				}
			})
		}
	}
}
