package extism

import (
	"context"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// v2Guest returns a guest with one V2 export, which runs this code.
func v2Guest(export string, data []byte, code ...[]byte) []byte {
	var m w.Module
	m.Import(Module, "alloc", []byte{w.I64}, []byte{w.I64})
	m.Import("wasi_snapshot_preview1", "proc_exit", []byte{w.I32}, nil)
	m.Import("env", "abort", []byte{w.I32, w.I32, w.I32, w.I32}, nil)
	m.Memory(1, 1)
	m.Data(16, data)
	m.Export(export, m.Func(nil, []byte{w.I32}, nil, code...))
	return m.Bytes()
}

// The texts of an AssemblyScript abort are in the call's error.
func TestAbort_textIsInTheError(t *testing.T) {
	text := func(s string) []byte {
		p := []byte{byte(2 * len(s)), 0, 0, 0}
		for _, c := range []byte(s) {
			p = append(p, c, 0)
		}
		return p
	}
	data := append(text("oh no"), text("a.ts")...)
	for args, want := range map[[4]int32]string{
		{20, 34, 3, 7}:     "the guest gave up: oh no at a.ts:3:7",
		{0, 3, 1, 1}:       "the guest gave up: (no text) at (no text):1:1",
		{-1, 65536, -1, 0}: "the guest gave up: (no text) at (no text):4294967295:0",
	} {
		wasm := v2Guest("call_tool", data, w.I32Const(args[0]), w.I32Const(args[1]), w.I32Const(args[2]), w.I32Const(args[3]), w.Call(2), w.I32Const(0))
		p, err := pool(t, wasm, New(), runtime.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		x := &plugin{t: t, pool: p, world: newWorld(t, "")}
		x.wantEnd("tools/call", "{}", runtime.KindGuest, want)
	}
}

// An exit with code 0 counts as success, and an exited guest is not called again.
func TestServe_exitWithZeroIsSuccess(t *testing.T) {
	for code, want := range map[int32]string{0: `the guest's "list_tools" gave no output`, 3: "the guest exited with code 3"} {
		p, err := pool(t, v2Guest("list_tools", nil, w.I32Const(code), w.Call(1), w.I32Const(0)), New(), runtime.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		kind := runtime.KindGuest
		if code != 0 {
			kind = runtime.KindExit
		}
		(&plugin{t: t, pool: p, world: newWorld(t, "")}).wantEnd("plugin/describe", "", kind, want)
	}
	s := &script{steps: steps("f", "", "")}
	p, err := pool(t, v2Guest("f", nil, w.I32Const(0), w.Call(1), w.I32Const(0)), s, runtime.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Call(context.Background(), runtime.Request{}, newWorld(t, "")); err != nil {
		t.Fatal(err)
	}
	if s.got[0].failed || s.got[1].text != `the guest has exited before its "f" was called` {
		t.Errorf("got %+v, want no failure, then that the guest has exited", s.got)
	}
}
