package plugin

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// compiling returns a module with compile as its compilation, and waits for its goroutine at the end of the test.
func compiling(t *testing.T, compile func() error) *Module {
	t.Helper()
	var work sync.WaitGroup
	t.Cleanup(work.Wait)
	m := newModule("p.wasm", "sha256:00")
	m.CompileBy(func(context.Context) (*runtime.Module, error) { return nil, compile() }, work.Go)
	return m
}

func TestModuleGet_compilesOnceForAllCallers(t *testing.T) {
	var times atomic.Int32
	broken := errors.New("broken")
	m := compiling(t, func() error {
		times.Add(1)
		return broken
	})
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			if _, err := m.Get(t.Context()); !errors.Is(err, broken) {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if n := times.Load(); n != 1 {
		t.Errorf("got %d compilations, want 1", n)
	}
	if m.Ready() {
		t.Error("a broken module is ready")
	}
}

func TestModuleGet_retriesAReplacedFile(t *testing.T) {
	var times atomic.Int32
	m := compiling(t, func() error {
		times.Add(1)
		return ErrReplaced
	})
	for range 3 {
		if _, err := m.Get(t.Context()); !errors.Is(err, ErrReplaced) {
			t.Error(err)
		}
	}
	if n := times.Load(); n != 3 {
		t.Errorf("got %d tries, want 3", n)
	}
}

func TestModuleGet_endsWithItsContext(t *testing.T) {
	goOn := make(chan struct{})
	broken := errors.New("broken")
	m := compiling(t, func() error {
		<-goOn
		return broken
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(goOn)
	if _, err := m.Get(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestModule_closesWithItsLastReference(t *testing.T) {
	m := newModule("p.wasm", "sha256:00")
	m.Retain()
	m.Release()
	if !m.Wanted() {
		t.Error("the maker's claim is gone")
	}
	m.Release()
	if m.Wanted() {
		t.Error("a claim is left")
	}
}

// The last Release cancels the compilation.
func TestModuleRelease_cancelsTheCompilation(t *testing.T) {
	m := newModule("p.wasm", "sha256:1")
	ended := make(chan struct{})
	m.CompileBy(func(ctx context.Context) (*runtime.Module, error) {
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}, func(f func()) { go f() })
	gone, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := m.Get(gone); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	m.Release()
	<-ended
	if _, err := m.Get(t.Context()); !errors.Is(err, runtime.ErrClosed) {
		t.Error(err)
	}
}
