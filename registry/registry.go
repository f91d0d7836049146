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
	"github.com/sallyport-mcp/sallyport/registry/cache"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/folder"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/module"
	"github.com/sallyport-mcp/sallyport/registry/notify"
	"github.com/sallyport-mcp/sallyport/registry/serving"
	"github.com/sallyport-mcp/sallyport/registry/stamp"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Options configure a Registry.
type Options struct {
	// Dir is the plugin folder; every .wasm file in it is a plugin. It need not exist. Empty watches
	// no folder.
	Dir string
	// Plugins is what the operator says about each, by name.
	Plugins map[string]Config
	// Defaults fills the zero fields of each plugin's limits.
	Defaults runtime.Limits
	// Files, if not nil, are the only files that are loaded, once and for all: Dir is not looked at
	// and nothing is watched.
	Files []File
	// Engine compiles modules; nil loads none.
	Engine *runtime.Engine
	// Host makes the plugins' gates; nil makes one that logs to Logger.
	Host *hostfuncs.Host
	// Dialects are asked in order whether a module is theirs.
	Dialects []Dialect
	// Lock says which bytes of each plugin may serve; nil lets all of them.
	Lock *lock.Lock
	// Typed stands behind the plugin's name in the commands that are told to a person: the folder and flags that lead to
	// this registry's plugins; "" is none.
	Typed string
	// State is the folder of the cache of digests and manifests; it is made with mode 0700. Empty
	// caches nothing between runs.
	State string
	// Logger tells what is loaded and what is not; nil logs nothing.
	Logger *slog.Logger
}

// File is one plugin file that is loaded by its path.
type File struct {
	Path   string
	Config Config // Source is ignored; the name is the file's stem
}

// Dialect is a calling convention and how to tell it.
type Dialect = module.Dialect

// Registry holds the plugins of a folder and of this process. It is safe for concurrent use.
type Registry struct {
	opts    Options
	log     *slog.Logger
	host    *hostfuncs.Host
	ownHost bool
	places  grant.Places
	cache   *cache.Cache
	buffers stamp.Buffers
	shown   atomic.Pointer[shown]
	notes   *notify.Notifier

	stop   context.Context // done when the registry closes: loading ends
	cancel context.CancelFunc
	ending context.Context // done when Close gives up waiting: calls are ended
	end    context.CancelFunc
	work   sync.WaitGroup // loading, compiling, draining

	keeper keeper

	began     time.Time
	firstList time.Duration
	whole     atomic.Bool // see Whole
	sayOnce   sync.Once

	warm      chan *module.Module
	warmAfter time.Duration

	mu       sync.Mutex
	folder   *folder.Watcher // nil: nothing is watched
	closed   bool
	configs  map[string]Config
	defaults runtime.Limits
	files    map[string]*file         // by absolute path
	code     map[string]*serving.Code // the plugins of this process, by name
	plugins  map[string]*plugin       // by name and path
	kept     map[string]bool          // files of approved bytes that serve, since others wait in their place
}

// shown is what the registry shows at one moment.
type shown struct {
	snapshot *catalogue.Snapshot
	status   []Status
}

// ErrClosed is returned by what needs an open registry.
var ErrClosed = errors.New("registry is closed")

// New loads what is there and watches for changes until Close. It returns when each file was looked
// at; plugins that have to be run to know what they offer may come later, see Ready.
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
		opts: o, log: loggerOr(o.Logger), host: o.Host, notes: notify.New(),
		configs: configs, defaults: o.Defaults, files: map[string]*file{}, code: map[string]*serving.Code{}, plugins: map[string]*plugin{},
		warm: make(chan *module.Module, maxWarm), warmAfter: warmDelay, began: time.Now(), firstList: firstList,
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
	r.shown.Store(&shown{snapshot: &catalogue.Snapshot{}})
	return r, nil
}

// home is the operator's home folder, as ~ means it in grants; "" if there is none.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}

// Snapshot returns the catalogue as it is now. It takes no lock.
func (r *Registry) Snapshot() *catalogue.Snapshot { return r.shown.Load().snapshot }

// Watch calls f after the catalogue changed, soon but not at once: changes that come together are
// told together. f is called from one goroutine at a time and should return soon. After stop f is
// not called again, unless it is being called just then.
func (r *Registry) Watch(f func(catalogue.Change)) (stop func()) { return r.notes.Watch(f) }

// Configure replaces what the operator says about the plugins, all at once: calls that begin later
// follow it, those that run keep what they began with. If it is wrong nothing changes.
func (r *Registry) Configure(plugins map[string]Config) error {
	r.mu.Lock()
	defaults := r.defaults
	r.mu.Unlock()
	return r.Reconfigure(plugins, defaults)
}

// Reconfigure is Configure with other Options.Defaults.
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

// lookAgain has sources looked at that are new.
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

// closeGrace is how long Close waits for what it has cancelled.
const closeGrace = 3 * time.Second

// Close stops watching, waits for the calls in progress and gives everything back. When ctx is done
// calls are cancelled, and its error is returned. Calls that come later fail. The engine and the
// host stay open.
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

// wait returns when all work has ended. Once ctx is done it ends the calls; a compilation that is
// under way even then goes on by itself.
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
