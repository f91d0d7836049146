package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/codecache"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// readable makes a module that can be compiled again from its bytes.
func readable(t *testing.T, e *runtime.Engine, n int32) *runtime.Module {
	m := compile(t, e, answering(n))
	m.ReadAgainBy(func(context.Context) ([]byte, error) { return answering(n).Bytes(), nil })
	return m
}

// An engine that finds no machine code compiles the outline in its place, whose functions only trap. It keeps that in
// memory, although its cache refuses it.
func TestEngine_runsNoOutlineAfterAFailedLoad(t *testing.T) {
	dir := t.TempDir()
	var fails error
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir, Compiler: func(ctx context.Context, wasm []byte) error {
		return errors.Join(fails, runtime.Precompile(ctx, dir, wasm))
	}})
	p := runtime.NewPool(readable(t, e, 5), run{}, nil)
	e.LimitLoaded(tight)
	moveCode(t, dir)
	fails = errors.New("killed")
	if got, err := p.Call(t.Context(), runtime.Request{}, nil); !errors.Is(err, fails) {
		t.Errorf("without its code: got %s, %v; want %v", got, err, fails)
	}
	fails = nil
	if got := answer(t, p); got != "5" {
		t.Errorf("got %s, want 5", got)
	}
}

// A machine with another processor may store its code in the same folder each time.
func TestEngine_compilesAModuleWhoseCodeItNeverFinds(t *testing.T) {
	dir := t.TempDir()
	var text preparedLog
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&text, nil)), Compiler: func(ctx context.Context, wasm []byte) error {
		if err := runtime.Precompile(ctx, dir, wasm); err != nil {
			return err
		}
		moveCode(t, dir)
		return nil
	}})
	for range 2 {
		m := compile(t, e, answering(5))
		p := runtime.NewPool(m, run{}, nil)
		if got := answer(t, p); got != "5" {
			t.Errorf("got %s, want 5", got)
		}
		if err := errors.Join(p.Close(t.Context()), m.Close()); err != nil {
			t.Error(err)
		}
	}
	if want := "compiled without the cache"; strings.Count(text.String(), want) != 2 {
		t.Errorf("got the log %q, want %q twice", text.String(), want)
	}
}

// Modules of equal code and different data share one outline, as scripts do. That holds for code that has to be made again
// too: the outline of a failed load serves nobody.
func TestEngine_sharesCodeOfModulesWithOtherData(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir, Loaded: tight})
	var pools []*runtime.Pool
	for i := range 4 {
		var m w.Module
		m.Memory(1, 1)
		m.Data(8, []byte{byte(i + 1)})
		m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.I32Const(8), w.I32Load(0)))
		c := compile(t, e, &m)
		c.ReadAgainBy(func(context.Context) ([]byte, error) { return m.Bytes(), nil })
		pools = append(pools, runtime.NewPool(c, run{}, nil))
	}
	for range 3 {
		moveCode(t, dir)
		var all sync.WaitGroup
		for first := range 8 {
			all.Go(func() {
				for n := range 20 {
					i := (first + n) % len(pools)
					got, err := pools[i].Call(context.Background(), runtime.Request{}, nil)
					if err != nil || string(got) != fmt.Sprint(i+1) {
						t.Errorf("module %d: got %s, %v; want %d", i, got, err, i+1)
					}
				}
			})
		}
		all.Wait()
		e.LimitLoaded(tight)
	}
}

// moveCode stores all machine code of a cache under the key of another processor.
func moveCode(t *testing.T, dir string) {
	t.Helper()
	folder, err := codecache.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Join(dir, "code"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v, %v; want machine code", files, err)
	}
	for _, f := range files {
		code, err := folder.Code(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		code.Key[0]++
		if err := folder.PutCode(f.Name(), code.Key, code.Open()); err != nil {
			t.Fatal(err)
		}
	}
}
