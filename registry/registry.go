package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/cache"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/folder"
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
	opts    Options
	log     *slog.Logger
	host    *hostfuncs.Host
	ownHost bool
	places  grant.Places
	cache   *cache.Cache
	buffers fileid.Buffers
	shown   atomic.Pointer[shown]
	notes   *catalog.Notifier

	stop   context.Context // done when the registry closes: ends loading
	cancel context.CancelFunc
	ending context.Context // done when Close stops waiting: ends calls
	end    context.CancelFunc
	work   sync.WaitGroup // loading, compiling, draining

	keeper keeper

	began     time.Time
	firstList time.Duration
	whole     atomic.Bool // see Whole
	sayOnce   sync.Once

	warm      chan *plugin.Module
	warmAfter time.Duration

	mu       sync.Mutex
	folder   *folder.Watcher // nil: nothing is watched
	closed   bool
	configs  map[string]Config
	defaults runtime.Limits
	files    map[string]*file        // by absolute path
	code     map[string]*plugin.Code // the plugins of this process, by name
	plugins  map[string]*slot        // by name and path
	kept     map[string]bool         // stored copies that serve while newer bytes wait for approval
}

// shown is the published state at one moment.
type shown struct {
	snapshot *catalog.Snapshot
	status   []Status
}

// ErrClosed is returned by methods that need an open registry.
var ErrClosed = errors.New("registry is closed")

// New loads the existing files and watches for changes until Close. It returns after each file was read; plugins that
// must be run to learn their manifest may be published later, see Ready.
func New(ctx context.Context, o Options) (*Registry, error) {
	r, err := newRegistry(o)
	if err != nil {
		return nil, err
	}
	if r.opts.Files != nil {
		r.loadFiles(ctx)
	} else {
		r.watchFolders(ctx)
	}
	r.startWarming()
	if err := r.addBuiltin(); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return r, nil
}

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
	r := &Registry{
		opts: o, log: loggerOr(o.Logger), host: o.Host, notes: catalog.NewNotifier(),
		configs: configs, defaults: o.Defaults, files: map[string]*file{}, code: map[string]*plugin.Code{}, plugins: map[string]*slot{},
		warm: make(chan *plugin.Module, maxWarm), warmAfter: warmDelay, began: time.Now(), firstList: firstList,
	}
	r.cache = cache.Open(o.State, r.log)
	r.stop, r.cancel = context.WithCancel(context.Background())
	r.ending, r.end = context.WithCancel(context.Background())
	if r.host == nil {
		r.host, r.ownHost = hostfuncs.NewHost(&hostfuncs.Options{Logger: r.log}), true
	}
	if r.places = r.host.Places(); r.places.Home == "" {
		r.places.Home = home()
	}
	r.host.SetCaller(r)
	r.shown.Store(&shown{snapshot: &catalog.Snapshot{}})
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

// Snapshot returns the current catalog. It takes no lock.
func (r *Registry) Snapshot() *catalog.Snapshot { return r.shown.Load().snapshot }

// Watch calls f after the catalog changed. Changes shortly after each other are coalesced. f is called from one
// goroutine at a time and should return soon. After stop f is not called again, but a call in progress may still
// finish.
func (r *Registry) Watch(f func(catalog.Change)) (stop func()) { return r.notes.Watch(f) }

// Configure replaces the settings of all plugins atomically: new calls use them, running calls keep the old ones. On
// error nothing changes.
func (r *Registry) Configure(plugins map[string]Config) error {
	r.mu.Lock()
	defaults := r.defaults
	r.mu.Unlock()
	return r.Reconfigure(plugins, defaults)
}

// Reconfigure is Configure with new Options.Defaults.
func (r *Registry) Reconfigure(plugins map[string]Config, defaults runtime.Limits) error {
	configs, err := checkConfigs(plugins)
	if err != nil {
		return err
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return ErrClosed
	}
	if err := r.checkFit(configs, defaults); err != nil {
		r.mu.Unlock()
		return err
	}
	r.configs, r.defaults = configs, defaults
	r.mu.Unlock()
	r.assemble()
	r.lookAgain()
	return nil
}

// lookAgain triggers a scan for new sources.
func (r *Registry) lookAgain() {
	r.mu.Lock()
	watching := r.folder != nil
	r.mu.Unlock()
	switch {
	case r.opts.Files != nil:
	case watching:
		r.touch("")
	case r.anySource():
		r.startFolder()
	}
}

// closeGrace limits how long Close waits after it has cancelled calls.
const closeGrace = 3 * time.Second

// Close stops watching, waits for the calls in progress and releases all resources. When ctx is done, calls are
// cancelled and an error that wraps the cause of ctx is returned. Later calls fail. Options.Engine and Options.Host
// stay open.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	if closed {
		return nil
	}
	r.cancel()
	defer time.AfterFunc(keepAtEnd, func() { r.keeper.over.Store(true) }).Stop()
	r.notes.Close()
	r.retireAll()
	err := r.wait(ctx)
	r.cache.Close()
	if r.ownHost {
		r.host.Close()
	}
	return err
}

// wait returns when all background work has ended. Once ctx is done it cancels the calls and waits at most closeGrace
// longer; a compilation may still be running after that.
func (r *Registry) wait(ctx context.Context) error {
	defer r.end()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.work.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	r.end()
	select {
	case <-done:
	case <-time.After(closeGrace):
	}
	return fmt.Errorf("plugins were still at work: %w", context.Cause(ctx))
}
