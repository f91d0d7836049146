package runtime_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// TestEngine_Compiler: a module that is not in the cache is compiled elsewhere, once; what goes wrong there is told,
// and tried again.
func TestEngine_Compiler(t *testing.T) {
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
		t.Error(err)
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
		t.Errorf("%s, %v", got, err)
	}
	if err := runtime.Precompile(t.Context(), dir, []byte("nonsense")); err == nil {
		t.Error("nonsense was compiled")
	}
}

// TestEngine_TrimCache: the oldest entries go until a quarter of the room is free, and what a crash left half done.
func TestEngine_TrimCache(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir})
	version, err := filepath.Glob(filepath.Join(dir, "wazero-*"))
	if err != nil || len(version) != 1 {
		t.Fatal(version, err)
	}
	put := func(name string, size int, age time.Duration) {
		file := filepath.Join(version[0], name)
		if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	put("oldest", 300, 4*time.Hour)
	put("old", 300, 3*time.Hour)
	put("new", 300, 2*time.Hour)
	put("half.123.tmp", 10, 2*time.Hour)
	put("half.124.tmp", 10, time.Minute)
	names := func() (all []string) {
		entries, _ := os.ReadDir(version[0])
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	for _, c := range []struct {
		max  int64
		want int
	}{{1000, 4}, {900, 3}, {300, 1}} {
		if err := e.TrimCache(c.max); err != nil {
			t.Fatal(err)
		}
		if got := names(); len(got) != c.want {
			t.Errorf("at most %d bytes: %v", c.max, got)
		}
	}
	if got := names(); got[0] != "half.124.tmp" {
		t.Errorf("%v is left", got)
	}
}
