package runtime_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// readable makes a module that can be compiled again from its bytes.
func readable(t *testing.T, e *runtime.Engine, n int32) *runtime.Module {
	m := compile(t, e, answering(n))
	m.ReadAgainBy(func(context.Context) ([]byte, error) { return answering(n).Bytes(), nil })
	return m
}

// An engine that finds no machine code compiles the outline in its place, whose functions only trap. If it cannot write
// that into its folder either, which is gone here, it keeps it in memory.
func TestEngine_runsNoOutlineAfterAFailedLoad(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir})
	p := runtime.NewPool(readable(t, e, 5), run{}, nil)
	e.LimitLoaded(tight)
	found, err := filepath.Glob(filepath.Join(dir, "load-*", "wazero-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v; want one folder", found, err)
	}
	moved := found[0] + "-moved" // it is found, and the engine looks into the other one
	if err := os.Rename(found[0], moved); err != nil {
		t.Fatal(err)
	}
	got, err := p.Call(t.Context(), runtime.Request{}, nil)
	t.Logf("without the folder: %s, %v", got, err)
	if err := os.Rename(moved, found[0]); err != nil {
		t.Fatal(err)
	}
	e.LimitLoaded(tight)
	if got := answer(t, p); got != "5" {
		t.Errorf("got %s, want 5", got)
	}
}

// Modules of equal code and different data share one outline, as scripts do.
func TestEngine_sharesCodeOfModulesWithOtherData(t *testing.T) {
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir(), Loaded: tight})
	var pools []*runtime.Pool
	for i := range 4 {
		var m w.Module
		m.Memory(1, 1)
		m.Data(8, []byte{byte(i + 1)})
		m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.I32Const(8), w.I32Load(0)))
		pools = append(pools, runtime.NewPool(compile(t, e, &m), run{}, nil))
	}
	var all sync.WaitGroup
	for first := range 8 {
		all.Go(func() {
			for n := range 60 {
				i := (first + n) % len(pools)
				got, err := pools[i].Call(context.Background(), runtime.Request{}, nil)
				if err != nil || string(got) != fmt.Sprint(i+1) {
					t.Errorf("module %d: got %s, %v; want %d", i, got, err, i+1)
				}
			}
		})
	}
	all.Wait()
}
