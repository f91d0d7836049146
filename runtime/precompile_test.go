package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// A module that is not cached is compiled by the Compiler, once; an error is returned, and the compilation is tried
// again.
func TestEngine_compilesElsewhereOnce(t *testing.T) {
	dir := t.TempDir()
	var asked int
	var fails error
	open := func() *runtime.Engine {
		return newEngine(t, &runtime.EngineOptions{CacheDir: dir, Compiler: func(ctx context.Context, wasm []byte) error {
			asked++
			if fails != nil {
				return fails
			}
			return runtime.Precompile(ctx, dir, wasm)
		}})
	}
	var m w.Module
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.I32Const(5)))
	e := open()
	fails = errors.New("killed")
	if _, err := e.Compile(t.Context(), m.Bytes()); !errors.Is(err, fails) {
		t.Errorf("got %v, want %v", err, fails)
	}
	fails = nil
	for range 2 {
		compile(t, e, &m)
	}
	c := compile(t, open(), &m)
	if asked != 2 {
		t.Errorf("it was compiled elsewhere %d times", asked)
	}
	got, err := runtime.NewPool(c, run{}, nil).Call(t.Context(), runtime.Request{}, nil)
	if err != nil || string(got) != "5" {
		t.Errorf("got %s, %v; want \"5\", no error", got, err)
	}
	if err := runtime.Precompile(t.Context(), dir, []byte("nonsense")); err == nil {
		t.Error("nonsense was compiled")
	}
}
