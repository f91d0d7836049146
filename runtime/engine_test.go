package runtime_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// newEngine returns an engine that is closed after the test.
func newEngine(t testing.TB, o *runtime.EngineOptions) *runtime.Engine {
	t.Helper()
	e, err := runtime.NewEngine(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func compile(t testing.TB, e *runtime.Engine, m *w.Module) *runtime.Module {
	t.Helper()
	c, err := e.Compile(context.Background(), m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The modules of a folder are simplified: an engine without simplifications would take them for its own.
func TestNewEngine_refusesUnsimplifiedCodeInAFolder(t *testing.T) {
	const want = "an engine without simplifications has no folder of compiled modules"
	if _, err := runtime.NewEngine(t.Context(), &runtime.EngineOptions{Unsimplified: true, CacheDir: t.TempDir()}); err == nil || err.Error() != want {
		t.Errorf("NewEngine = %v, want %q", err, want)
	}
}

func TestEngine_compileRefusesInvalidModules(t *testing.T) {
	e := newEngine(t, &runtime.EngineOptions{Host: []runtime.HostFunc{
		{Module: "host", Name: "known", Params: []byte{w.I32}, Call: func(context.Context, runtime.Memory, []uint64) {}}}})
	imports := func(f func(m *w.Module)) []byte {
		var m w.Module
		f(&m)
		return m.Bytes()
	}
	var invalid w.Module
	invalid.Func(nil, []byte{w.I32}, nil)
	var bomb w.Module
	bomb.FuncRaw(bomb.Type(nil, nil), w.Code([]byte{1}, w.U32(300_000_000), []byte{w.I32}), w.End)
	var huge w.Module
	huge.Memory(65536, w.None)
	for name, c := range map[string]struct {
		wasm []byte
		is   error
		want string
	}{
		"not wasm":  {[]byte("hello"), wasmbin.ErrNotWasm, "not a WebAssembly module: starts with 68 65 6c 6c"},
		"bomb":      {bomb.Bytes(), wasmbin.ErrLimit, "the number of locals of function 0 (at offset 22) is 300000000"},
		"huge":      {huge.Bytes(), wasmbin.ErrLimit, "the memory at start in bytes is 4294967296, at most 4294901760 is allowed"},
		"invalid":   {invalid.Bytes(), nil, "compile: invalid function[0]"},
		"truncated": {invalid.Bytes()[:20], wasmbin.ErrTruncated, "truncated WebAssembly module"},
		"imports": {imports(func(m *w.Module) {
			m.Import("host", "known", []byte{w.I32}, nil)
			m.Import("extism:host/env", "alloc", []byte{w.I64}, []byte{w.I64})
			m.Import("host", "known", []byte{w.I32, w.I64}, []byte{w.F32, w.F64})
			m.ImportRaw("env", "memory", 2, 0, 1)
			m.Import("extism:host/env", "alloc", []byte{w.I64}, []byte{w.I64})
		}), runtime.ErrImport, "missing imports: this host does not offer extism:host/env.alloc, " +
			"host.known as (i32, i64) -> (f32, f64) (it is (i32) -> ()), env.memory (a memory)"},
		"many imports": {imports(func(m *w.Module) {
			for i := range 30 {
				m.Import("m", string(rune('A'+i)), nil, nil)
			}
		}), runtime.ErrImport, "m.S, m.T, and 10 more"},
	} {
		_, err := e.Compile(context.Background(), c.wasm)
		if err == nil || !strings.Contains(err.Error(), c.want) || (c.is != nil && !errors.Is(err, c.is)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNewEngine_refusesAHostFunctionTwice(t *testing.T) {
	f := runtime.HostFunc{Module: "a", Name: "b", Call: func(context.Context, runtime.Memory, []uint64) {}}
	_, err := runtime.NewEngine(context.Background(), &runtime.EngineOptions{Host: []runtime.HostFunc{f, f}})
	if err == nil || err.Error() != "host function a.b is registered twice" {
		t.Errorf("got %v, want an error", err)
	}
}

func TestEngine_closeWaitsForCalls(t *testing.T) {
	ctx := context.Background()
	entered, leave := make(chan struct{}), make(chan struct{})
	e, err := runtime.NewEngine(ctx, &runtime.EngineOptions{Host: []runtime.HostFunc{{Module: "h", Name: "wait",
		Call: func(context.Context, runtime.Memory, []uint64) { close(entered); <-leave }}}})
	if err != nil {
		t.Fatal(err)
	}
	var m w.Module
	m.Import("h", "wait", nil, nil)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.Call(0), w.I32Const(1)))
	module := compile(t, e, &m)
	p := runtime.NewPool(module, run{}, nil)
	answered := make(chan error, 1)
	go func() {
		_, err := p.Call(ctx, runtime.Request{}, nil)
		answered <- err
	}()
	<-entered
	soon, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := e.Close(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closed under a call: got %v, want %v", err, context.DeadlineExceeded)
	}
	if _, err := e.Compile(ctx, m.Bytes()); !errors.Is(err, runtime.ErrClosed) {
		t.Errorf("compile while closing: got %v, want %v", err, runtime.ErrClosed)
	}
	wantEnd(t, callErr(p), runtime.KindUnavailable, "the host is closing")
	close(leave)
	if err := <-answered; err != nil {
		t.Errorf("the call that ran: got %v, want no error", err)
	}
	if err := e.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := errors.Join(p.Close(ctx), module.Close(), module.Close(), e.Close(ctx)); err != nil {
		t.Error(err)
	}
}

func TestEngine_reusesCompiledModules(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "cache")
	var m w.Module
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.I32Const(7)))
	use := func() {
		e := newEngine(t, &runtime.EngineOptions{CacheDir: dir})
		p := runtime.NewPool(compile(t, e, &m), run{}, nil)
		if got, err := p.Call(context.Background(), runtime.Request{}, nil); string(got) != "7" || err != nil {
			t.Errorf("got %s, %v; want \"7\", no error", got, err)
		}
	}
	use()
	entries, _ := filepath.Glob(filepath.Join(dir, "code", "*"))
	if len(entries) != 1 {
		t.Fatalf("entries: %v", entries)
	}
	if info, err := os.Stat(dir); err != nil || (goruntime.GOOS != "windows" && info.Mode().Perm() != 0o700) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	stamp, _ := os.Stat(entries[0])
	use()
	if again, err := os.Stat(entries[0]); err != nil || !again.ModTime().Equal(stamp.ModTime()) {
		t.Errorf("the entry was written again: %v", err)
	}

	for name, spoil := range map[string]func([]byte) []byte{
		"cut":   func(b []byte) []byte { return b[:len(b)/2] },
		"empty": func(b []byte) []byte { return nil },
		"bits":  func(b []byte) []byte { b[len(b)/2] ^= 0xff; return b },
	} {
		t.Run("damaged "+name, func(t *testing.T) {
			whole, err := os.ReadFile(entries[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(entries[0], spoil(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			use()
		})
	}
}

// TestEngine_sharesItsCacheFolder compiles the same modules in several engines with one cache folder concurrently.
func TestEngine_sharesItsCacheFolder(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		e := newEngine(t, &runtime.EngineOptions{CacheDir: dir})
		wg.Go(func() {
			for i := range 8 {
				var m w.Module
				m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.I32Const(int32(i))))
				c, err := e.Compile(context.Background(), m.Bytes())
				if err != nil {
					t.Error(err)
					return
				}
				got, err := runtime.NewPool(c, run{}, nil).Call(context.Background(), runtime.Request{}, nil)
				if err != nil || string(got) != string(rune('0'+i)) {
					t.Errorf("%d: got %s, %v; want %s, no error", i, got, err, string(rune('0'+i)))
				}
			}
		})
	}
	wg.Wait()
}

// A cache folder that others can write to is rejected.
func TestNewEngine_refusesACacheFolderOpenToOthers(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("permission bits say nothing here")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := runtime.NewEngine(context.Background(), &runtime.EngineOptions{CacheDir: dir}); err == nil {
		t.Error("it is taken")
	}
}
