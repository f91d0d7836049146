package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/threads"
	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// tight is a limit that no two modules fit into.
const tight = 1

// answer calls the function run of a module through a pool.
func answer(t *testing.T, p *runtime.Pool) string {
	t.Helper()
	got, err := p.Call(t.Context(), runtime.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestEngine_unloadsOverItsLimitAndLoadsAgain(t *testing.T) {
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir(), Loaded: tight})
	var pools []*runtime.Pool
	for i := range 3 {
		pools = append(pools, runtime.NewPool(compile(t, e, answering(int32(i))), run{}, nil))
	}
	if n := e.Stats().Loaded; n != 0 {
		t.Errorf("before the first call: got %d bytes, want 0", n)
	}
	for round := range 3 {
		for i, p := range pools {
			if got, want := answer(t, p), fmt.Sprint(i); got != want {
				t.Errorf("round %d: got %s, want %s", round, got, want)
			}
			for j, other := range pools {
				if i != j { // its image may have been taken into the shelf just now
					eventually(t, func() bool { return !other.IsLoaded() })
				}
			}
		}
	}
	e.LimitLoaded(1 << 30)
	for i, p := range pools {
		answer(t, p)
		if !pools[0].IsLoaded() || !p.IsLoaded() {
			t.Errorf("with room, after a call of %d: module 0 is loaded: %v, it is: %v; want both", i, pools[0].IsLoaded(), p.IsLoaded())
		}
	}
	e.LimitLoaded(tight)
	eventually(t, func() bool { return e.Stats().Loaded == 0 }) // the last image may have been taken into the shelf just now
	if n := e.Stats().Loaded; n != 0 {
		t.Errorf("with a lower limit: got %d bytes, want 0", n)
	}
}

// A module that a call loads again may be compiled again.
func TestEngine_takesAllThreadsToLoadAgain(t *testing.T) {
	before := goruntime.GOMAXPROCS(0)
	defer goruntime.GOMAXPROCS(before)
	t.Setenv("GOMAXPROCS", "")
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir(), Loaded: tight})
	first, second := runtime.NewPool(compile(t, e, answering(1)), run{}, nil), runtime.NewPool(compile(t, e, answering(2)), run{}, nil)
	answer(t, first)
	answer(t, second)
	eventually(t, func() bool { return !first.IsLoaded() })
	threads.Fit(2)
	eventually(t, func() bool { threads.Request(e); return goruntime.GOMAXPROCS(0) == 1 })
	answer(t, first)
	eventually(t, func() bool { return goruntime.GOMAXPROCS(0) > 1 })
}

func TestEngine_unloadsTheLongestUnusedFirst(t *testing.T) {
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir()})
	var pools []*runtime.Pool
	for i := range 3 {
		pools = append(pools, runtime.NewPool(compile(t, e, answering(int32(i))), run{}, nil))
		answer(t, pools[i])
	}
	answer(t, pools[0])
	e.LimitLoaded(e.Stats().Loaded - 1)
	for i, want := range []bool{true, false, true} {
		if got := pools[i].IsLoaded(); got != want {
			t.Errorf("module %d is loaded: %v, want %v", i, got, want)
		}
	}
}

func TestEngine_sharesEqualModules(t *testing.T) {
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir()})
	first := compile(t, e, answering(5))
	once := e.Stats().Loaded
	second := compile(t, e, answering(5))
	if got := e.Stats().Loaded; got != once {
		t.Errorf("got %d bytes for two modules of equal bytes, want %d", got, once)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, runtime.NewPool(second, run{}, nil)); got != "5" {
		t.Errorf("after the other was closed: got %s, want 5", got)
	}
}

// tally returns a module whose function run returns the number of its calls.
func tally() *w.Module {
	var m w.Module
	g := m.Global(w.I32, 0)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.GlobalGet(g), w.I32Const(1), w.I32Add, w.GlobalSet(g), w.GlobalGet(g)))
	return &m
}

func TestEngine_keepsCodeOfKeptInstances(t *testing.T) {
	for _, state := range []runtime.State{runtime.StatePlugin, runtime.StateSession} {
		e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir(), Loaded: tight})
		p := runtime.NewPool(compile(t, e, tally()), run{}, &runtime.PoolOptions{State: state})
		call := func(want string) {
			t.Helper()
			if got, err := p.Call(t.Context(), runtime.Request{Session: "one"}, nil); err != nil || string(got) != want {
				t.Errorf("%s: got %s, %v; want %s, no error", state, got, err, want)
			}
		}
		call("1")
		answer(t, runtime.NewPool(compile(t, e, answering(5)), run{}, nil))
		call("2")
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEngine_unloadsNoCodeInACall(t *testing.T) {
	arrived, proceed := make(chan struct{}), make(chan struct{})
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir(), Loaded: tight, Host: []runtime.HostFunc{{
		Module: "host", Name: "wait", Call: func(context.Context, runtime.Memory, []uint64) {
			arrived <- struct{}{}
			<-proceed
		},
	}}})
	var m w.Module
	wait := m.Import("host", "wait", nil, nil)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.Call(wait), w.I32Const(7)))
	p := runtime.NewPool(compile(t, e, &m), run{}, nil)
	done := make(chan string)
	go func() {
		got, err := p.Call(context.Background(), runtime.Request{}, nil)
		done <- fmt.Sprint(string(got), err)
	}()
	<-arrived
	answer(t, runtime.NewPool(compile(t, e, answering(5)), run{}, nil))
	if !p.IsLoaded() {
		t.Error("code was unloaded during a call")
	}
	close(proceed)
	if got, want := <-done, "7<nil>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The data segments are read again when an image is built again.
func TestPool_buildsTheImageAgainWithItsData(t *testing.T) {
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir()})
	var m w.Module
	m.Memory(1, 1)
	m.Data(8, []byte{1, 2})
	m.Data(12, []byte{3, 0})
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.I32Const(8), w.I32Load(0), w.I32Const(8), w.I32Load(4), w.I32Add))
	p := runtime.NewPool(compile(t, e, &m), run{}, nil)
	for i := range 3 {
		if got, want := answer(t, p), fmt.Sprint(1|2<<8+3); got != want {
			t.Errorf("image %d: got %s, want %s", i, got, want)
		}
		p.DropImage()
	}
}

// emptied removes the files of a cache.
func emptied(t *testing.T, dir string, folders ...string) {
	t.Helper()
	for _, f := range folders {
		if err := os.RemoveAll(filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEngine_compilesUnloadedModulesAgainWithoutACache(t *testing.T) {
	for _, lost := range [][]string{{"code"}, {"modules"}, {"code", "modules"}} {
		dir := t.TempDir()
		e := newEngine(t, &runtime.EngineOptions{CacheDir: dir, Loaded: tight})
		wasm := answering(5).Bytes()
		m, err := e.Compile(t.Context(), wasm)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		fails := errors.New("the file is gone")
		bytes, failure := wasm, fails
		m.ReadAgainBy(func(context.Context) ([]byte, error) { return bytes, failure })
		p := runtime.NewPool(m, run{}, nil)
		t.Cleanup(func() { p.Close(context.Background()) })
		e.LimitLoaded(tight)
		emptied(t, dir, lost...)
		if _, err := p.Call(t.Context(), runtime.Request{}, nil); !errors.Is(err, fails) {
			t.Errorf("%v lost, and the file: got %v, want %v", lost, err, fails)
		}
		bytes, failure = answering(6).Bytes(), nil
		if _, err := p.Call(t.Context(), runtime.Request{}, nil); err == nil || !strings.Contains(err.Error(), "cannot be loaded again") {
			t.Errorf("%v lost, and the file changed: got %v, want that it cannot be loaded", lost, err)
		}
		bytes = wasm
		if got := answer(t, p); got != "5" {
			t.Errorf("%v lost: got %s, want 5", lost, got)
		}
	}
}

func TestEngine_unloadsNothingThatItCannotLoadAgain(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir, Loaded: 1 << 30})
	p := runtime.NewPool(compile(t, e, answering(5)), run{}, nil)
	answer(t, p)
	emptied(t, dir, "code", "modules")
	e.LimitLoaded(tight)
	if !p.IsLoaded() {
		t.Error("it was unloaded")
	}
	if got := answer(t, p); got != "5" {
		t.Errorf("got %s, want 5", got)
	}
}

// Code of another processor is stored under another key, and the engine would compile the outline in its place.
func TestEngine_compilesAgainForAnotherProcessor(t *testing.T) {
	dir := t.TempDir()
	prepareAnew(t, dir, "", answering(5))
	moveCode(t, dir)
	for _, want := range []string{"cannot be used and is made again", ""} {
		got, log := prepareAnew(t, dir, "", answering(5))
		if got != "5" || want == "" && log != "" || !strings.Contains(log, want) {
			t.Errorf("got %s and the log %q; want 5 and %q", got, log, want)
		}
	}
}

func TestEngine_leavesNoUncompressedCode(t *testing.T) {
	dir := t.TempDir()
	compile(t, newEngine(t, &runtime.EngineOptions{CacheDir: dir}), answering(5))
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 2 || all[0].Name() != "code" || all[1].Name() != "modules" {
		t.Errorf("got %v, %v; want code and modules", all, err)
	}
}

// stopping is a host with a function wait, on which a guest waits until the test lets it proceed.
type stopping struct{ arrived, proceed chan struct{} }

func newStopping() stopping { return stopping{make(chan struct{}), make(chan struct{})} }

func (s stopping) host() []runtime.HostFunc {
	return []runtime.HostFunc{{Module: "host", Name: "wait", Call: func(ctx context.Context, _ runtime.Memory, _ []uint64) {
		s.arrived <- struct{}{}
		select {
		case <-s.proceed:
		case <-ctx.Done():
			runtime.Abort(ctx.Err())
		}
	}}}
}

// module returns a module that waits when it starts.
func (stopping) module() *w.Module {
	var m w.Module
	wait := m.Import("host", "wait", nil, nil)
	m.Start(m.Func(nil, nil, nil, w.Call(wait)))
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.I32Const(7)))
	return &m
}

func TestPool_Prepare_buildsTheImage(t *testing.T) {
	s := newStopping()
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir(), Host: s.host()})
	p := runtime.NewPool(compile(t, e, s.module()), run{}, nil)
	prepared := make(chan error)
	go func() { prepared <- p.Prepare(context.Background()) }()
	<-s.arrived
	s.proceed <- struct{}{}
	if err := <-prepared; err != nil {
		t.Fatal(err)
	}
	if got := answer(t, p); got != "7" { // it would wait for the test if it started again
		t.Errorf("got %s, want 7", got)
	}
}

func TestPool_Prepare_isGivenUpWithItsContext(t *testing.T) {
	s := newStopping()
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir(), Host: s.host()})
	p := runtime.NewPool(compile(t, e, s.module()), run{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	prepared := make(chan error)
	go func() { prepared <- p.Prepare(ctx) }()
	<-s.arrived
	cancel()
	if err := <-prepared; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if err := p.Close(context.Background()); err != nil { // it waits for the build
		t.Errorf("Close: got %v, want no error", err)
	}
}

func TestPool_Prepare_continuesForACall(t *testing.T) {
	s := newStopping()
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir(), Host: s.host()})
	p := runtime.NewPool(compile(t, e, s.module()), run{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	prepared, called := make(chan error), make(chan string)
	go func() { prepared <- p.Prepare(ctx) }()
	<-s.arrived
	go func() {
		got, err := p.Call(context.Background(), runtime.Request{}, nil)
		called <- fmt.Sprint(string(got), err)
	}()
	eventually(t, p.IsWanted)
	cancel()
	<-prepared
	s.proceed <- struct{}{}
	if got, want := <-called, "7<nil>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Calls of many modules that do not fit together: each loads its own, and unloads others.
func TestEngine_survivesConcurrentLoadsAndUnloads(t *testing.T) {
	e := newEngine(t, &runtime.EngineOptions{CacheDir: t.TempDir(), Loaded: tight})
	var pools []*runtime.Pool
	for i := range 4 {
		pools = append(pools, runtime.NewPool(compile(t, e, answering(int32(i))), run{}, nil))
	}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 20 {
				at := (n + i) % len(pools)
				got, err := pools[at].Call(context.Background(), runtime.Request{}, nil)
				if err != nil || string(got) != fmt.Sprint(at) {
					t.Errorf("got %s, %v; want %d, no error", got, err, at)
					return
				}
			}
		})
	}
	wg.Wait()
}
