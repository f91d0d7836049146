package rewrite_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"

	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// steps is code that counts its executions, in global 0.
var steps = w.Code(w.GlobalGet(0), w.I32Const(1), w.I32Add, w.GlobalSet(0))

// straight returns a module whose export f runs code without loops; function 0 is a small one without calls.
func straight(code ...[]byte) []byte {
	var m w.Module
	m.Global(w.I32, 0)
	m.Func(nil, nil, nil, w.Repeat(30, w.I32Const(1), w.I32Const(1), w.I32DivS, w.Drop))
	m.Export("f", m.Func(nil, nil, nil, code...))
	m.ExportRaw("steps", 3, 0)
	return m.Bytes()
}

// Straight code of any length stops soon after the host ends it, on every path.
func TestMeter_stopsStraightCode(t *testing.T) {
	skipped := w.Code(w.BlockVoid, w.I32Const(1), w.BrIf(0), w.Repeat(10_000, steps), w.End)
	for name, c := range map[string]struct {
		code []byte
		most uint64 // of the steps
	}{
		"plain":            {w.Repeat(100_000, steps), 40_000},
		"calls":            {w.Repeat(50_000, w.Call(0), steps), 1000},
		"a block":          {w.Code(w.BlockVoid, w.Repeat(100_000, steps), w.End), 40_000},
		"blocks that pass": {w.Repeat(20, w.Repeat(5000, steps), skipped), 60_000},
		"if":               {w.Code(w.I32Const(1), w.IfVoid, w.Repeat(50_000, steps), w.Else, w.Repeat(50_000, steps), w.End, w.Repeat(50_000, steps)), 60_000},
		"else":             {w.Code(w.I32Const(0), w.IfVoid, w.Repeat(50_000, steps), w.Else, w.Repeat(50_000, steps), w.End, w.Repeat(50_000, steps)), 60_000},
		"in a loop":        {w.Code(w.LoopVoid, w.Repeat(50_000, steps), w.Br(0), w.End), 60_000},
		"after a loop":     {w.Code(w.LoopVoid, w.Repeat(5000, steps), w.End, w.Repeat(90_000, steps)), 60_000},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			h, err := newHost(ctx, wazero.NewRuntimeConfigInterpreter())
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close(ctx)
			h.slice, h.refills = 1, 4
			g, err := h.load(ctx, straight(c.code), wazero.NewModuleConfig())
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.ExportedFunction("f").Call(ctx)
			if ran := g.ExportedGlobal("steps").Get(); !errors.Is(err, errFuel) || ran > c.most {
				t.Errorf("got %d steps, %v; want at most %d, %v", ran, err, c.most, errFuel)
			}
		})
	}
}

// The places of the pauses do not change the fuel spent.
func TestMeter_pausesAreFree(t *testing.T) {
	ctx := context.Background()
	spend := func(n int) int64 {
		h, err := newHost(ctx, wazero.NewRuntimeConfigInterpreter())
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close(ctx)
		g, err := h.load(ctx, straight(w.Repeat(n, steps, w.Call(0))), wazero.NewModuleConfig())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.ExportedFunction("f").Call(ctx); err != nil {
			t.Fatal(err)
		}
		return h.spent(g)
	}
	one, many := spend(2)-spend(1), spend(10_001)-spend(1)
	if many != 10_000*one {
		t.Errorf("got %d units for 10,000 turns, want %d", many, 10_000*one)
	}
}

// Code of usual length has no pause.
func TestMeter_usualCodeHasNoPause(t *testing.T) {
	for n, want := range map[int]int{1000: 1, 8000: 1, 9000: 2, 80_000: 10} {
		_, info, err := rewriteWasm(straight(w.Repeat(n, steps)), both)
		if err != nil || info.Checks != want {
			t.Errorf("%d instructions: %d checks, %v, want %d", 4*n, info.Checks, err, want)
		}
	}
}
