package runtime_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
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
