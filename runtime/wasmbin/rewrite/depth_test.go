package rewrite_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"

	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// Recursion ends by the counter, before the engine's own stack is full, for any size of a frame.
func TestMeter_endsRecursionBeforeTheStackIsFull(t *testing.T) {
	kept := func(n int, push, fold []byte) []byte { // n values on the stack during the recursive call
		return w.Code(w.Repeat(n, push), w.Call(0), w.Repeat(n, fold))
	}
	var many []byte // values in locals during the recursive call, each set before its own call
	for i := range uint32(900) {
		many = append(many, w.Code(w.GlobalGet(0), w.LocalSet(i), w.Call(1))...)
	}
	many = append(many, w.Call(0)...)
	for i := range uint32(900) {
		many = append(many, w.Code(w.LocalGet(i), w.GlobalSet(0))...)
	}
	splat, lane := []byte{0xfd, 15}, []byte{0xfd, 21, 0}
	for name, c := range map[string]struct{ locals, code []byte }{
		"empty":                {[]byte{0}, w.Call(0)},
		"100 values":           {[]byte{0}, kept(100, w.GlobalGet(0), w.GlobalSet(0))},
		"900 values":           {[]byte{0}, kept(900, w.GlobalGet(0), w.GlobalSet(0))},
		"900 vectors":          {[]byte{0}, kept(900, w.Code(w.GlobalGet(0), splat), w.Code(lane, w.GlobalSet(0)))},
		"120 vectors":          {[]byte{0}, kept(120, w.Code(w.GlobalGet(0), splat), w.Code(lane, w.GlobalSet(0)))},
		"900 locals":           {w.Code([]byte{1}, w.U32(900), []byte{w.I32}), many},
		"9000 locals, not set": {w.Code([]byte{1}, w.U32(9000), []byte{w.I64}), w.Call(0)},
	} {
		t.Run(name, func(t *testing.T) {
			var m w.Module
			m.Global(w.I32, 3)
			typ := m.Type(nil, nil)
			m.Export("run", m.FuncRaw(typ, c.locals, c.code, w.End))
			m.FuncRaw(typ, []byte{0}, w.Repeat(201, []byte{1}), w.End)
			ctx := context.Background()
			h, err := newHost(ctx, wazero.NewRuntimeConfig())
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close(ctx)
			g, err := h.load(ctx, m.Bytes(), wazero.NewModuleConfig())
			if err != nil {
				t.Fatal(err)
			}
			if _, err = g.ExportedFunction("run").Call(ctx); !errors.Is(err, errDepth) {
				t.Errorf("got %.100v, want %.100v", err, errDepth)
			}
		})
	}
}
