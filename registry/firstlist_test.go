package registry

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// slowly creates a folder of two plugins; one must be compiled to be listed, which takes until gate is closed.
func slowly(t *testing.T) (o Options, gate chan struct{}, said func() string) {
	t.Helper()
	dir := t.TempDir()
	honest().write(t, dir, "packed.wasm")
	guest{answer: `{"result":` + tools("new") + `}`}.write(t, dir, "slow.wasm")
	gate = make(chan struct{})
	engine, err := runtime.NewEngine(t.Context(), &runtime.EngineOptions{
		Host: append(native.HostFuncs(), wasi.HostFuncs()...), CacheDir: t.TempDir(),
		Compiler: func(ctx context.Context, _ []byte) error {
			select {
			case <-gate:
			case <-ctx.Done():
			}
			return ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	o = options(t, dir)
	o.Engine = engine
	var mu sync.Mutex
	var text bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(writeFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(p)
	}), nil))
	return o, gate, func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
}

type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(p []byte) (int, error) { return f(p) }

// begin opens a registry without waiting for compilations.
func begin(t *testing.T, o Options) *Registry {
	t.Helper()
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	r, err := New(soon, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the packed one is listed", func() bool { return has(r, "packed-say") })
	return r
}

// The first list waits for plugins that must be compiled to be listed, logs that, and is complete.
func TestAwaitComplete_waitsForCompilation(t *testing.T) {
	o, gate, said := slowly(t)
	r := begin(t, o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.AwaitComplete(t.Context())
	}()
	eventually(t, "it is said", func() bool {
		return strings.Contains(said(), "the first list waits for plugins that are being compiled") && strings.Contains(said(), "plugins=slow longest=45s")
	})
	select {
	case <-done:
		t.Error("AwaitComplete: got an end, want it to wait for the slow plugin")
	default:
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r.AwaitComplete(gone) // a caller that gives up does not end the wait of others
	if r.IsComplete() {
		t.Error("IsComplete() without the slow plugin = true, want false")
	}
	close(gate)
	<-done
	if !has(r, "slow-new") || !r.IsComplete() {
		t.Errorf("got complete %v, %+v; want true with slow-new", r.IsComplete(), r.Plugins())
	}
}

// The wait is limited, and the log names the plugins that are missing then.
func TestAwaitComplete_limitsTheWait(t *testing.T) {
	o, gate, said := slowly(t)
	r := begin(t, o)
	defer close(gate)
	r.first.limit = time.Since(r.first.began) + 10*time.Millisecond
	r.AwaitComplete(t.Context())
	if !r.IsComplete() || has(r, "slow-new") || !strings.Contains(said(), "lists are answered without plugins that are still being compiled") || !strings.Contains(said(), "plugins=slow after=") {
		t.Errorf("got complete %v, log %s, %+v; want true, slow in the log, no slow-new", r.IsComplete(), said(), r.Plugins())
	}
}

// A client that connects long after the start gets every plugin, and no warning about missing plugins is logged.
func TestAwaitComplete_returnsAtOnceLater(t *testing.T) {
	o, gate, said := slowly(t)
	close(gate)
	r := begin(t, o)
	r.AwaitComplete(t.Context())
	r.first.limit = -time.Hour
	for range 50 {
		r.first.complete.Store(false)
		if r.AwaitComplete(t.Context()); !r.IsComplete() {
			t.Fatal("IsComplete() after AwaitComplete = false, want true")
		}
	}
	if strings.Contains(said(), "still being compiled") {
		t.Errorf("got log %s, want no plugin still being compiled", said())
	}
}
