package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sallyport-mcp/sallyport/runtime/codecache"
)

// entryKey is the engine's name for the machine code of a module.
type entryKey = [codecache.KeySize]byte

// entryCache is the interface of the engine's own cache. Its methods are called from any goroutine.
type entryCache interface {
	Get(key entryKey) (entry io.ReadCloser, ok bool, err error)
	Add(key entryKey, entry io.Reader) error
	Delete(key entryKey) error // of another version
}

var errNoCache = errors.New("the engine's cache cannot be reached")

// newCache returns a cache of the engine that keeps machine code in c. The engine has no API for that but a folder of
// files, so c is put in the place of these by reflection.
func newCache(c entryCache) (wazero.CompilationCache, error) {
	cache := wazero.NewCompilationCache()
	v := reflect.ValueOf(cache)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, errNoCache
	}
	f := v.Elem().FieldByName("fileCache")
	if !f.IsValid() || f.Kind() != reflect.Interface || !reflect.TypeOf(c).Implements(f.Type()) {
		return nil, errNoCache
	}
	reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(c))
	return cache, nil
}

// entries is the cache of the engine of one process. It has the machine code of the modules that are being loaded.
type entries struct {
	mu    sync.Mutex
	codes map[entryKey]*codecache.Code
	turns map[string]*markTurn // by mark
}

// markTurn is held by one load at a time of modules of equal code, such as scripts: none of them may find the outline that
// a failed one left in the engine.
type markTurn struct {
	sync.Mutex
	loads int // that have it or wait for it
}

func newEntries() *entries {
	return &entries{codes: map[entryKey]*codecache.Code{}, turns: map[string]*markTurn{}}
}

var _ entryCache = (*entries)(nil)

// errNoCode means that the machine code of a module has to be made again.
var errNoCode = errors.New("the machine code is not in the cache")

// Get returns the code that a load offers.
func (n *entries) Get(key entryKey) (io.ReadCloser, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	code := n.codes[key]
	if code == nil {
		return nil, false, nil
	}
	return io.NopCloser(code.Open()), true, nil
}

// Add refuses an outline, which the engine has compiled because it looks under another name on a different processor.
func (n *entries) Add(entryKey, io.Reader) error { return errNoCode }

// Delete refuses code of another version of the engine.
func (n *entries) Delete(entryKey) error { return errNoCode }

// offer makes code available to the engine.
func (n *entries) offer(c *codecache.Code) (withdraw func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.codes[c.Key] = c
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.codes, c.Key)
	}
}

// await returns when no other load of this mark is in progress.
func (n *entries) await(mark string) (end func()) {
	n.mu.Lock()
	t := n.turns[mark]
	if t == nil {
		t = &markTurn{}
		n.turns[mark] = t
	}
	t.loads++
	n.mu.Unlock()
	t.Lock()
	return func() {
		t.Unlock()
		n.mu.Lock()
		defer n.mu.Unlock()
		if t.loads--; t.loads == 0 {
			delete(n.turns, mark)
		}
	}
}

// load has the engine read the machine code of the outline of a module. Its functions only trap, so it is an error if the
// engine compiled them in place of reading the code.
func (n *entries) load(e *Engine, p *prepared) (wazero.CompiledModule, uint64, error) {
	defer n.await(p.Mark)()
	code, err := e.folder.Code(p.Mark)
	if err != nil {
		return nil, 0, err
	}
	defer code.Close()
	defer n.offer(code)()
	compiled, err := e.compile(context.Background(), p.outline)
	if err != nil {
		e.forget(p.outline)
		return nil, 0, err
	}
	return compiled, code.Size, nil
}

// forget removes an outline from the memory of the engine, which keeps the code of a module that its cache refused, and
// returns it the next time: functions that only trap.
func (e *Engine) forget(outline []byte) {
	if again, err := e.compile(context.Background(), outline); err == nil {
		_ = again.Close(context.Background()) // the reference of the failure
		_ = again.Close(context.Background())
	}
}

// compileUncached compiles a whole module, which entries refuses too: the engine has it in memory the second time.
func (e *Engine) compileUncached(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	compiled, err := e.compile(ctx, wasm)
	if !errors.Is(err, errNoCode) {
		return compiled, err
	}
	if compiled, err = e.compile(ctx, wasm); err == nil {
		_ = compiled.Close(ctx) // the reference of the failure
	}
	return compiled, err
}

// takenEntry is an empty cache that takes the machine code of one module.
type takenEntry struct {
	key  entryKey
	take func(entry io.Reader) error
	n    int
}

var _ entryCache = (*takenEntry)(nil)

// Get returns nothing.
func (t *takenEntry) Get(entryKey) (io.ReadCloser, bool, error) { return nil, false, nil }

// Add takes an entry.
func (t *takenEntry) Add(key entryKey, entry io.Reader) error {
	t.key, t.n = key, t.n+1
	return t.take(entry)
}

// Delete is called for entries of Get.
func (t *takenEntry) Delete(entryKey) error { return nil }

// compileEntry compiles a module in an engine of its own, passes the machine code to take, and returns the engine's name for
// it.
func compileEntry(ctx context.Context, wasm []byte, workers int, take func(entry io.Reader) error) (key entryKey, err error) {
	t := &takenEntry{take: take}
	cache, err := newCache(t)
	if err != nil {
		return key, err
	}
	r := newRuntime(ctx, cache)
	c, err := r.CompileModule(experimental.WithCompilationWorkers(ctx, workers), wasm)
	if err == nil {
		err = c.Close(ctx)
	} else {
		err = fmt.Errorf("compile: %w", err)
	}
	err = errors.Join(err, r.Close(ctx), cache.Close(ctx))
	if err == nil && t.n != 1 {
		err = fmt.Errorf("the engine made %d entries of one module", t.n)
	}
	return t.key, err
}
