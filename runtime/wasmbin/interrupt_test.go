package wasmbin_test

import (
	"bytes"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

func TestInterruptible(t *testing.T) {
	stop := w.Code(w.LoopVoid, w.End)
	build := func(f func(m *w.Module, stop []byte)) func(stop []byte) []byte {
		return func(stop []byte) []byte {
			var m w.Module
			m.Import("h", "f", nil, nil)
			m.Table(1, 1)
			f(&m, stop)
			m.Custom("after", []byte("x"))
			return m.Bytes()
		}
	}
	indirect := w.Code(w.I32Const(0), []byte{0x11, 0, 0})
	for name, c := range map[string]struct {
		module func(stop []byte) []byte
		none   bool // it needs no stop
	}{
		"empty":    {module: func([]byte) []byte { return new(w.Module).Bytes() }, none: true},
		"straight": {module: build(func(m *w.Module, _ []byte) { m.Func(nil, nil, nil, w.Call(0)) }), none: true},
		"calls": {module: build(func(m *w.Module, _ []byte) {
			m.Func(nil, nil, nil, w.Call(0))
			m.Func(nil, nil, nil, w.Repeat(9, w.Call(1)))
		}), none: true},
		"recursion": {module: build(func(m *w.Module, stop []byte) {
			m.Func(nil, nil, []byte{w.I32, w.I64}, stop, w.Call(2))
			m.Func(nil, nil, nil, w.Call(1))
		})},
		"recursion with a loop": {module: build(func(m *w.Module, _ []byte) {
			m.Func(nil, nil, nil, w.BlockVoid, w.LoopVoid, w.Call(1), w.End, w.End)
		}), none: true},
		"a loop that may be left out": {module: build(func(m *w.Module, stop []byte) {
			m.Func(nil, nil, nil, stop, w.BlockVoid, w.I32Const(1), w.BrIf(0), w.LoopVoid, w.End, w.End, w.Call(1))
		})},
		"through a table": {module: build(func(m *w.Module, stop []byte) { m.Func(nil, nil, nil, stop, indirect) })},
		"the host, often": {module: build(func(m *w.Module, stop []byte) {
			m.Func(nil, nil, nil, stop, w.Repeat(100, stop, w.Call(0)))
		})},
	} {
		in, want := c.module(nil), c.module(stop)
		if c.none {
			want = in
		}
		b, err := wasmbin.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wasmbin.Interruptible(b)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%x, want\n%x", name, err, got, want)
		}
		if out, err := wasmbin.Read(got); err != nil || wasmbin.Check(out, wasmbin.Limits{}) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
