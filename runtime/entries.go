package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sallyport-mcp/sallyport/runtime/codecache"
)

// entries is the folder from which the engine's own cache reads machine code, for one process. It holds the code of a
// module while that is loaded, and nothing at other times: the engine would keep it uncompressed.
type entries struct {
	dir string // "" for a cache in memory

	mu sync.Mutex // held while the engine reads
}

func newEntries(folder codecache.Folder) (*entries, error) {
	dir, err := folder.Scratch()
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	return &entries{dir: dir}, nil
}

func (n *entries) remove() error {
	if n.dir == "" {
		return nil
	}
	return os.RemoveAll(n.dir)
}

// errNoCode means that the machine code of a module has to be made again.
var errNoCode = errors.New("the machine code is not in the cache")

// load has the engine read the machine code of the outline of a module. Its functions only trap, so it is an error if the
// engine compiled them in place of reading the code: it looks under another name on a different processor.
func (n *entries) load(e *Engine, p *prepared) (wazero.CompiledModule, uint64, error) {
	if err := os.MkdirAll(n.dir, 0o700); err != nil { // another process may have taken it for an abandoned one
		return nil, 0, unwritten(err)
	}
	stage, err := os.MkdirTemp(n.dir, "entry-*") // modules of equal code, as scripts, are loaded at the same time
	if err != nil {
		return nil, 0, unwritten(err)
	}
	defer os.RemoveAll(stage)
	staged, size, err := e.folder.PlaceCode(p.Mark, stage)
	if err != nil {
		return nil, 0, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	sub, err := n.read()
	if err != nil {
		return nil, 0, unwritten(err)
	}
	entry := filepath.Join(sub, filepath.Base(staged))
	if err := os.Rename(staged, entry); err != nil {
		return nil, 0, unwritten(err)
	}
	defer n.clear(sub)
	placed, err := os.Lstat(entry)
	if err != nil {
		return nil, 0, err
	}
	compiled, err := e.compile(context.Background(), p.outline)
	if err != nil {
		e.forget(p.outline)
		return nil, 0, err
	}
	if !isOnly(sub, entry, placed) {
		_ = compiled.Close(context.Background())
		return nil, 0, errNoCode
	}
	return compiled, size, nil
}

func unwritten(err error) error { return fmt.Errorf("%w: %w", codecache.ErrUnwritten, err) }

// forget removes an outline from the memory of the engine, which keeps the code of a module whose entry it cannot write,
// and returns it the next time: functions that only trap.
func (e *Engine) forget(outline []byte) {
	if again, err := e.compile(context.Background(), outline); err == nil {
		_ = again.Close(context.Background()) // the reference of the failure
		_ = again.Close(context.Background())
	}
}

// compileWithEntry compiles a whole module. On a full disk the engine fails to write the entry, and keeps the code in
// memory until it closes: it returns that the second time.
func (e *Engine) compileWithEntry(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	n := &e.entries
	n.mu.Lock()
	defer n.mu.Unlock()
	compiled, err := e.compile(ctx, wasm)
	if err != nil {
		compiled, err = e.compile(ctx, wasm)
	}
	if sub, found := n.read(); found == nil {
		n.clear(sub)
	}
	return compiled, err
}

// read returns the subfolder from which the engine reads.
func (n *entries) read() (string, error) {
	found, err := filepath.Glob(filepath.Join(n.dir, "wazero-*"))
	if err != nil || len(found) == 1 {
		return append(found, "")[0], err
	}
	c, err := wazero.NewCompilationCacheWithDir(n.dir) // creates it
	if err != nil {
		return "", err
	}
	if err := c.Close(context.Background()); err != nil {
		return "", err
	}
	if found, err = filepath.Glob(filepath.Join(n.dir, "wazero-*")); err == nil && len(found) != 1 {
		err = errors.New("the folder of the engine's cache cannot be found")
	}
	return append(found, "")[0], err
}

// isOnly reports whether a folder holds one entry, which is still the file that was placed.
func isOnly(dir, entry string, placed os.FileInfo) bool {
	all, err := os.ReadDir(dir)
	now, gone := os.Lstat(entry)
	return err == nil && gone == nil && len(all) == 1 && os.SameFile(placed, now) && now.Size() == placed.Size() && now.ModTime().Equal(placed.ModTime())
}

// clear removes all entries.
func (n *entries) clear(sub string) {
	all, _ := os.ReadDir(sub)
	for _, one := range all {
		_ = os.Remove(filepath.Join(sub, one.Name())) // one that stays makes the next load compile again
	}
}

// compileEntry compiles a module in a folder of its own, and returns the engine's name for its entry and the entry.
func compileEntry(ctx context.Context, folder codecache.Folder, wasm []byte, workers int) (key string, raw []byte, err error) {
	n, err := newEntries(folder)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, n.remove()) }()
	cache, err := wazero.NewCompilationCacheWithDir(n.dir)
	if err != nil {
		return "", nil, fmt.Errorf("cache folder: %w", err)
	}
	r := newRuntime(ctx, cache)
	c, err := r.CompileModule(experimental.WithCompilationWorkers(ctx, workers), wasm)
	if err == nil {
		err = c.Close(ctx)
	} else {
		err = fmt.Errorf("compile: %w", err)
	}
	if err := errors.Join(err, r.Close(ctx), cache.Close(ctx)); err != nil {
		return "", nil, err
	}
	sub, err := n.read()
	if err != nil {
		return "", nil, err
	}
	all, err := os.ReadDir(sub)
	if err != nil || len(all) != 1 {
		return "", nil, errors.Join(err, fmt.Errorf("the engine made %d entries of one module", len(all)))
	}
	key = all[0].Name()
	raw, err = os.ReadFile(filepath.Join(sub, key))
	return key, raw, err
}
