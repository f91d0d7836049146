package registry

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/cache"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Options configures a Registry.
type Options struct {
	// Dir is the plugin folder. It need not exist. Empty watches no folder.
	Dir string
	// Plugins holds the operator's settings by plugin name.
	Plugins map[string]Config
	// Defaults fills the zero fields of each plugin's limits.
	Defaults runtime.Limits
	// Files, if not nil, are the only files to load, once: Dir is ignored and no folder is watched.
	Files []File
	// Engine compiles modules; nil loads none.
	Engine *runtime.Engine
	// Host creates the plugins' gates; nil creates one that logs to Logger.
	Host *hostfuncs.Host
	// Dialects are tried in order to detect a module's calling convention.
	Dialects []Dialect
	// Lock records the approved bytes of each plugin; nil approves all.
	Lock *lock.Lock
	// Typed is appended to the plugin's name in commands shown to the operator: the folder and flags that select this
	// registry's plugins; "" is none.
	Typed string
	// State is the folder of the cache of digests and manifests, created with mode 0700. Empty disables the cache
	// between runs.
	State string
	// Logger reports loaded and failed plugins; nil discards.
	Logger *slog.Logger
}

// File is one plugin file loaded by its path.
type File struct {
	Path   string
	Config Config // Source is ignored; the name is the file's stem
}

// Dialect detects and implements a calling convention.
type Dialect = plugin.Dialect

// Registry holds the plugins of a folder and of this process. It is safe for concurrent use.
type Registry struct {
	given     []File          // Options.Files
	ownHost   *hostfuncs.Host // closed with the registry; nil for Options.Host
	approvals approvals

	life      *lifecycle
	inputs    *inputs
	loader    *loader
	ahead     *ahead
	watcher   *watcher
	keeper    *keeper
	assembler *assembler
	public    *publisher
	first     *firstList
}

// errClosed is returned by methods that need an open registry.
var errClosed = errors.New("registry is closed")

// New loads the existing files and watches for changes until Close. It returns after each file was read; plugins that
// must be run to learn their manifest may be published later, see Ready.
func New(ctx context.Context, o Options) (*Registry, error) {
	r, err := newRegistry(o)
	if err != nil {
		return nil, err
	}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// begin loads the existing files and starts watching. On error the registry is closed.
func (r *Registry) begin(ctx context.Context) error {
	if r.given != nil {
		r.loadGiven(ctx)
	} else {
		if r.loader.Engine != nil {
			r.ahead.expect()
		}
		r.watchFolders(ctx)
		if r.loader.Engine != nil {
			r.life.work.Go(r.ahead.run)
		}
	}
	if err := r.assembler.addBuiltin(); err != nil {
		return errors.Join(err, r.Close(ctx))
	}
	return nil
}

// newRegistry returns a registry that has loaded nothing yet.
func newRegistry(o Options) (*Registry, error) {
	configs, err := checkConfigs(o.Plugins)
	if err != nil {
		return nil, err
	}
	if o.Dir != "" {
		if o.Dir, err = filepath.Abs(o.Dir); err != nil {
			return nil, err
		}
	}
	log, host := loggerOr(o.Logger), o.Host
	r := &Registry{given: o.Files, approvals: approvals{lock: o.Lock, dir: o.Dir, typed: o.Typed}, life: newLifecycle(), public: newPublisher(log)}
	if host == nil {
		host = hostfuncs.NewHost(&hostfuncs.Options{Logger: log})
		r.ownHost = host
	}
	places := host.Places()
	if places.Home == "" {
		places.Home = home()
	}
	r.inputs = &inputs{folders: folders{dir: o.Dir, home: places.Home}, configs: configs, defaults: o.Defaults,
		files: fileTable{}, code: map[string]*plugin.Code{}}
	r.keeper = &keeper{approvals: r.approvals, life: r.life, log: log, seen: map[string]bool{}, fetches: map[string]chan struct{}{}}
	r.assembler = &assembler{inputs: r.inputs, given: o.Files, approvals: r.approvals, life: r.life, log: log, keeper: r.keeper, public: r.public, serving: slots{}}
	r.assembler.starter = starter{host: host, places: places, log: log, keeper: r.keeper, notes: r.public.notes, relist: r.assembler.assemble, ready: r.Ready}
	r.loader = &loader{
		Loader:    plugin.Loader{Engine: o.Engine, Host: host, Dialects: o.Dialects, Cache: cache.Open(o.State, log), Buffers: &fileid.Buffers{}},
		approvals: r.approvals, life: r.life, broken: r.assembler.drop,
	}
	r.ahead = &ahead{engine: o.Engine, cache: r.loader.Cache, life: r.life, prepare: r.assembler.prepare, modules: r.inputs.modules, after: warmDelay, news: make(chan struct{}, 1)}
	r.watcher = &watcher{inputs: r.inputs, loader: r.loader, ahead: r.ahead, life: r.life, log: log, show: r.assembler.assemble}
	r.first = &firstList{log: log, stop: r.life.stop, began: time.Now(), limit: firstListTime, answered: make(chan struct{})}
	r.ahead.listed = r.first.answered
	r.keeper.changed, r.loader.changed, r.assembler.touch = r.assembler.assemble, r.watcher.touch, r.watcher.touch
	host.SetCaller(toolCaller{r.public})
	return r, nil
}

// home returns the operator's home folder, for ~ in grants; "" if there is none.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}

// firstWait limits how long New waits for files that are being written or have to be run.
const firstWait = 3 * time.Second

// watchFolders starts watching, and waits for the first scan.
func (r *Registry) watchFolders(ctx context.Context) {
	if r.inputs.folders.dir == "" && !r.inputs.anySource() {
		return
	}
	r.watcher.start()
	wait, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	r.Ready(wait)
	r.keeper.begun()
}

// loadGiven loads Options.Files concurrently and waits for them.
func (r *Registry) loadGiven(ctx context.Context) {
	results := make(chan loaded, 2*len(r.given))
	var loading sync.WaitGroup
	for _, f := range r.given {
		path := absolute(f.Path)
		loading.Go(func() {
			l := r.loader.load(ctx, path, nil)
			results <- l
			if l.extism != nil && l.extism.Err == nil {
				results <- r.loader.load(ctx, l.extism.Module, nil)
			}
		})
	}
	loading.Wait()
	close(results)
	for l := range results {
		r.watcher.apply(l)
	}
	r.loader.Cache.Flush()
	r.assembler.assemble()
}

// Snapshot returns the current catalog. It takes no lock.
func (r *Registry) Snapshot() *catalog.Snapshot { return r.public.snapshot() }

// Plugins returns the status of every plugin, sorted by name and file.
func (r *Registry) Plugins() []Status { return r.public.plugins() }

// Version returns a value that changes whenever the result of Plugins may change. It is cheap to compare.
func (r *Registry) Version() any { return r.public.shown.Load() }

// Watch calls f after the catalog changed. Changes shortly after each other are coalesced. f is called from one
// goroutine at a time and should return soon. After stop f is not called again, but a call in progress may still
// finish.
func (r *Registry) Watch(f func(catalog.Change)) (stop func()) { return r.public.notes.Watch(f) }

// Ready waits until no file is being loaded: every plugin is in the catalog or reported.
func (r *Registry) Ready(ctx context.Context) error { return r.watcher.ready(ctx) }

// Configure replaces the settings of all plugins atomically: new calls use them, running calls keep the old ones. On
// error nothing changes.
func (r *Registry) Configure(plugins map[string]Config) error {
	r.inputs.mu.Lock()
	defaults := r.inputs.defaults
	r.inputs.mu.Unlock()
	return r.Reconfigure(plugins, defaults)
}

// Reconfigure is Configure with new Options.Defaults.
func (r *Registry) Reconfigure(plugins map[string]Config, defaults runtime.Limits) error {
	configs, err := checkConfigs(plugins)
	if err != nil {
		return err
	}
	if err := r.assembler.configure(configs, defaults); err != nil {
		return err
	}
	r.assembler.assemble()
	switch {
	case r.given != nil:
	case r.watcher.running() != nil:
		r.watcher.touch("") // for new sources
	case r.inputs.anySource():
		r.watcher.start()
	}
	return nil
}

// Relock reads the lock again if it has changed, and applies new approvals. On error nothing changes.
func (r *Registry) Relock(ctx context.Context) error {
	if r.approvals.lock == nil {
		return nil
	}
	changed, err := r.approvals.lock.Refresh(ctx)
	if changed {
		r.assembler.assemble()
	}
	return err
}

// Close stops watching, waits for the calls in progress and releases all resources. When ctx is done, calls are
// cancelled and an error that wraps the cause of ctx is returned. Later calls fail. Options.Engine and Options.Host
// stay open.
func (r *Registry) Close(ctx context.Context) error {
	if !r.inputs.close() {
		return nil
	}
	r.watcher.close()
	r.life.cancel()
	r.ahead.count()
	defer time.AfterFunc(keepAtEnd, func() { r.keeper.over.Store(true) }).Stop()
	r.public.notes.Close()
	r.assembler.close()
	err := r.life.wait(ctx)
	r.loader.Cache.Close()
	if r.ownHost != nil {
		r.ownHost.Close()
	}
	return err
}
