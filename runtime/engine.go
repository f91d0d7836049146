package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sallyport-mcp/sallyport/runtime/codecache"
	"github.com/sallyport-mcp/sallyport/runtime/image"
)

// ErrClosed is the cause when an engine, a module or a pool is used after Close.
var ErrClosed = errors.New("closed")

// EngineOptions configures an Engine. A nil pointer means all defaults.
type EngineOptions struct {
	// CacheDir keeps compiled modules between runs. It is created with mode 0700, and rejected if others can write to
	// it. Empty keeps them in memory.
	CacheDir string
	// Compiler compiles a module into CacheDir, in another process that calls Precompile. It is called only for
	// modules that are not cached, from several goroutines. Nil compiles in this process, without interruption.
	Compiler func(ctx context.Context, wasm []byte) error
	// Host lists every function that a guest may import.
	Host []HostFunc
	// Logger receives messages about the cache; nil discards them.
	Logger *slog.Logger
	// Restore selects the way to reset memories; zero is the fastest one available.
	Restore Restore
	// Kept bounds the memory of all kept instances together, in bytes; 0 means DefaultKept.
	Kept uint64
	// Loaded bounds the memory of the machine code and the images of all modules together, in bytes; 0 means an eighth of
	// the machine's memory, 512 MiB at most. Over it, the longest unused module is unloaded until its next call. Without
	// CacheDir nothing is unloaded.
	Loaded uint64
	// Waited is called with the time that a call waited for its turn, whether it got one or not, from any goroutine; it is
	// not called for calls that did not wait. Nil is not called.
	Waited func(time.Duration)
	// Unsimplified leaves out the passes of the rewriter that only make code faster. It is for measurements of them, and
	// needs an empty CacheDir, since the modules of a cache have these passes.
	Unsimplified bool
}

// Restore is a way to reset a memory to its image. The ways differ only in speed; see package image.
type Restore string

// The ways to reset a memory. RestoreCopy works everywhere, and replaces one that is unavailable on this system.
const (
	RestoreFastest Restore = ""
	RestoreScan    Restore = "scan"
	RestoreMap     Restore = "map"
	RestoreCopy    Restore = "copy"
)

// Restores returns the ways available on this system, slowest first.
func Restores() []Restore {
	var all []Restore
	for _, way := range image.Ways() {
		all = append(all, Restore(way.String()))
	}
	return all
}

func (r Restore) best() image.Way {
	ways := image.Ways()
	for _, way := range ways {
		if r == Restore(way.String()) {
			return way
		}
	}
	if r == RestoreFastest {
		return ways[len(ways)-1]
	}
	return image.Copy
}

// Engine compiles modules and holds the state they share. It is safe for concurrent use.
type Engine struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	folder   codecache.Folder // of the cache; "" for a cache in memory
	entries  *entries         // of it, for the runtime; nil for a cache in memory
	version  string           // of this program, for the modules that it prepares
	compiler func(ctx context.Context, wasm []byte) error
	host     map[hostKey]HostFunc
	log      *slog.Logger
	way      image.Way
	plainly  bool          // see EngineOptions.Unsimplified
	empty    *image.Image  // initial contents of memories that are not copied from an image
	compiles chan struct{} // one token for each running compilation
	users    gauge         // compilations and calls in progress
	kept     kept
	loaded   budget
	ahead    aheadLoads
	work     workload
	plain    plainCode
	stop     context.Context // done when the engine closes: ends loads
	halt     context.CancelFunc
}

// NewEngine returns a new engine. Its host functions are fixed for its lifetime.
func NewEngine(ctx context.Context, o *EngineOptions) (*Engine, error) {
	var opts EngineOptions
	if o != nil {
		opts = *o
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Unsimplified && opts.CacheDir != "" {
		return nil, errors.New("an engine without simplifications has no folder of compiled modules")
	}
	folder, loads, cache, err := openCache(opts.CacheDir)
	if err != nil {
		return nil, err
	}
	r := newRuntime(ctx, cache)
	host, err := register(ctx, r, opts.Host)
	if err == nil {
		err = registerRefill(ctx, r)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close(ctx), cache.Close(ctx))
	}
	way := opts.Restore.best()
	e := &Engine{
		runtime: r, cache: cache, folder: folder, entries: loads, version: programVersion(), compiler: opts.Compiler, host: host, log: opts.Logger, way: way, plainly: opts.Unsimplified, empty: image.New(nil, way),
		compiles: make(chan struct{}, processors), kept: kept{max: cmp.Or(opts.Kept, DefaultKept)},
	}
	e.work.waited = opts.Waited
	e.loaded.engine, e.loaded.max, e.loaded.all = e, cmp.Or(opts.Loaded, defaultLoaded()), map[string]*code{}
	e.stop, e.halt = context.WithCancel(context.WithoutCancel(ctx))
	return e, nil
}

// newRuntime returns a runtime with the settings of all engines.
func newRuntime(ctx context.Context, cache wazero.CompilationCache) wazero.Runtime {
	return wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesTailCall).
		WithCompilationCache(cache).
		WithMemoryLimitPages(maxMemory>>16).
		// Debug information is guest-controlled: it would be parsed in the host, and doubles the cost of loading.
		WithDebugInfoEnabled(false))
}

// openCache opens the folder of compiled machine code, for an engine that loads from it by entries, or returns a cache in
// memory if dir is empty.
func openCache(dir string) (codecache.Folder, *entries, wazero.CompilationCache, error) {
	if dir == "" {
		return "", nil, wazero.NewCompilationCache(), nil
	}
	folder, err := codecache.Open(dir)
	if err != nil {
		return "", nil, nil, err
	}
	loads := newEntries()
	c, err := newCache(loads)
	return folder, loads, c, err
}

// IsBusy reports whether a call, a load or a compilation is in progress, apart from those that LoadAhead began.
func (e *Engine) IsBusy() bool {
	e.users.mu.Lock()
	defer e.users.mu.Unlock()
	return e.users.n > e.ahead.count()
}

// Close waits until no call and no compilation is in progress, then releases all resources. Compile and Pool.Call fail
// from then on. If ctx is done first, Close releases nothing and returns an error; it may be called again.
func (e *Engine) Close(ctx context.Context) error {
	e.halt()
	e.loaded.stop()
	select {
	case <-e.users.close():
	case <-ctx.Done():
		return fmt.Errorf("engine is still in use: %w", context.Cause(ctx))
	}
	ctx = context.WithoutCancel(ctx)
	return errors.Join(e.runtime.Close(ctx), e.cache.Close(ctx))
}
