package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-mcp/sallyport/runtime/codecache"
	"github.com/sallyport-mcp/sallyport/runtime/image"
)

// ErrClosed is the cause when an engine, a module or a pool is used after it was closed.
var ErrClosed = errors.New("closed")

// EngineOptions configure an Engine. A nil pointer means all defaults.
type EngineOptions struct {
	// CacheDir keeps compiled modules between runs; it is made with mode 0700 and refused if others
	// can write to it. Empty keeps them in memory.
	CacheDir string
	// Compiler compiles a module into CacheDir, in another process that calls Precompile; only one that is not
	// there yet. Nil compiles here, where nothing can stop it. It is called from several goroutines.
	Compiler func(ctx context.Context, wasm []byte) error
	// Host is every function that a guest may import.
	Host []HostFunc
	// Logger tells about the cache; nil logs nothing.
	Logger *slog.Logger
	// Restore is how memories are made clean; zero is the fastest way that works here.
	Restore Restore
	// Kept is the memory of all instances together that are kept for sessions, in bytes; 0 is DefaultKept.
	Kept uint64
}

// Restore is a way to make a memory clean. They differ in speed only; see package image.
type Restore string

// The ways, of which RestoreCopy works everywhere. One that does not work here is RestoreCopy.
const (
	RestoreFastest Restore = ""
	RestoreScan    Restore = "scan"
	RestoreMap     Restore = "map"
	RestoreCopy    Restore = "copy"
)

// Restores returns the ways that work here.
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

// Engine compiles modules and holds what all of them share. It is safe for concurrent use.
type Engine struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	folder   codecache.Folder // of the cache; "" for one in memory
	compiler func(ctx context.Context, wasm []byte) error
	host     map[hostKey]HostFunc
	log      *slog.Logger
	way      image.Way
	empty    *image.Image  // what memories begin with that are no copies
	compiles chan struct{} // one token for each compilation that runs
	users    gauge         // compilations and calls in progress
	kept     kept
}

// NewEngine makes an engine. Its host functions are fixed for its life.
func NewEngine(ctx context.Context, o *EngineOptions) (*Engine, error) {
	var opts EngineOptions
	if o != nil {
		opts = *o
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	folder, cache, err := openCache(opts.CacheDir)
	if err != nil {
		return nil, err
	}
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithCompilationCache(cache).
		WithMemoryLimitPages(maxMemory>>16).
		// Debug information is the guest's: it would be parsed here, and doubles the cost of loading.
		WithDebugInfoEnabled(false))
	host, err := register(ctx, r, opts.Host)
	if err == nil {
		err = registerRefill(ctx, r)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close(ctx), cache.Close(ctx))
	}
	way := opts.Restore.best()
	return &Engine{
		runtime: r, cache: cache, folder: folder, compiler: opts.Compiler, host: host, log: opts.Logger, way: way, empty: image.New(nil, way),
		compiles: make(chan struct{}, goruntime.GOMAXPROCS(0)), kept: kept{max: cmp.Or(opts.Kept, DefaultKept)},
	}, nil
}

// openCache opens the folder of compiled machine code, or a cache in memory if dir is empty.
func openCache(dir string) (codecache.Folder, wazero.CompilationCache, error) {
	if dir == "" {
		return "", wazero.NewCompilationCache(), nil
	}
	folder, err := codecache.Open(dir)
	if err != nil {
		return "", nil, err
	}
	c, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return "", nil, fmt.Errorf("cache folder: %w", err)
	}
	return folder, c, nil
}

// Close waits until no call and no compilation is in progress, then gives everything back. Compile
// and Pool.Call fail from now on. If ctx is done first, nothing is given back and its error is
// returned; Close may then be called again.
func (e *Engine) Close(ctx context.Context) error {
	select {
	case <-e.users.close():
	case <-ctx.Done():
		return fmt.Errorf("engine is still in use: %w", context.Cause(ctx))
	}
	ctx = context.WithoutCancel(ctx)
	return errors.Join(e.runtime.Close(ctx), e.cache.Close(ctx))
}
