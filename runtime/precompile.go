package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/threads"
	"github.com/sallyport-mcp/sallyport/runtime/codecache"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// maxCache bounds the folder of compiled modules, in bytes: some hundred plugins.
const maxCache = 1 << 30

// maxPlain bounds the machine code that is kept uncompressed, in bytes: that of a few plugins in Go.
const maxPlain = 64 << 20

// Precompile compiles a module that Engine.Compile has prepared, only to fill the cache in dir. It should run in a
// separate process with limits: the compiler may take any time and memory, and may crash.
func Precompile(ctx context.Context, dir string, wasm []byte) error {
	folder, err := codecache.Open(dir)
	if err != nil {
		return err
	}
	return precompile(ctx, folder, wasm, goruntime.GOMAXPROCS(0))
}

// PruneCache removes from the cache in dir the modules that were not used for a time, and those of former versions of this
// program. It returns the number and the size of the files that it removed, and the size of those that stay.
func PruneCache(dir string, unused time.Duration) (files int, freed, left int64, err error) {
	folder, err := codecache.Open(dir)
	if err != nil {
		return 0, 0, 0, err
	}
	return folder.Prune(unused)
}

// KeepPlain keeps the compiled modules with these digests, in 64 hexadecimal digits, so that they are loaded sooner, the
// first ones first: they take up to four times the space on disk. Other modules are kept compressed.
func (e *Engine) KeepPlain(digests []string) {
	if ok, _ := e.users.enter(-1); !ok {
		return
	}
	defer e.users.leave()
	if !e.keeps() || !e.plain.change(digests) {
		return
	}
	var marks []string
	for _, digest := range digests {
		if mark := e.mark(digest); mark != "" {
			marks = append(marks, mark)
		}
	}
	if err := e.folder.KeepPlain(marks, maxPlain); err != nil {
		e.log.Warn("the cache of compiled plugins cannot be written", "error", err)
	}
}

// mark returns the mark of a module that this run has loaded or a former one has compiled, "" if there is none.
func (e *Engine) mark(digest string) string {
	if c := e.loaded.find(digest); c != nil {
		_ = c.release(nil) // of memory only
		return c.Mark
	}
	if !e.Compiled(digest) {
		return ""
	}
	p, _ := e.preparedBefore(digest)
	if p == nil {
		return ""
	}
	return p.Mark
}

// plainCode remembers the modules of the last KeepPlain.
type plainCode struct {
	mu      sync.Mutex
	digests []string
}

// change reports whether the modules changed.
func (p *plainCode) change(digests []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Equal(p.digests, digests) {
		return false
	}
	p.digests = digests
	return true
}

// precompile stores the machine code of a module under the name by which the engine looks for that of its outline.
func precompile(ctx context.Context, folder codecache.Folder, wasm []byte, workers int) error {
	outline, err := rewrite.Outline(wasm)
	if err != nil {
		return err
	}
	key, err := compileEntry(ctx, outline, 1, func(io.Reader) error { return nil })
	if err != nil {
		return err
	}
	_, err = compileEntry(ctx, wasm, workers, func(entry io.Reader) error { return folder.PutCode(markOf(wasm), key, entry) })
	return err
}

// elsewhere has the engine's Compiler make the machine code of a module.
func (e *Engine) elsewhere(ctx context.Context, p *prepared) error {
	if p.wasm == nil {
		return errNoCode
	}
	var err error
	if e.compiler != nil {
		err = e.compiler(ctx, p.wasm)
	} else {
		err = e.guard(func() error { return precompile(context.WithoutCancel(ctx), e.folder, p.wasm, 1) })
	}
	if err != nil {
		return err
	}
	e.work.compiled.Add(1)
	if err := e.folder.Trim(maxCache); err != nil {
		e.log.Warn("the cache of compiled plugins cannot be kept small", "dir", e.folder, "error", err)
	}
	return nil
}

// load returns the compiled module: from the cache, where its machine code is made if necessary. The error is errNoCode if
// that needs the module itself, of which p has the outline only.
func (e *Engine) load(ctx context.Context, p *prepared) (body, error) {
	defer threads.Hold()()
	select {
	case e.compiles <- struct{}{}:
		defer func() { <-e.compiles }()
	case <-ctx.Done():
		return body{}, context.Cause(ctx)
	}
	if e.folder == "" {
		return e.whole(p)
	}
	if !e.folder.HasCode(p.Mark) {
		if err := e.elsewhere(ctx, p); err != nil {
			return body{}, err
		}
	}
	compiled, size, err := e.entries.load(e, p)
	if err != nil {
		e.log.Warn("the compiled code of a plugin in the cache cannot be used and is made again", "code", p.Mark, "error", err)
		if err := e.folder.RemoveCode(p.Mark); err != nil {
			e.log.Warn("the cache of compiled plugins cannot be written", "error", err)
		}
		if err := e.elsewhere(ctx, p); err != nil {
			return body{}, err
		}
		compiled, size, err = e.entries.load(e, p)
	}
	if err != nil { // the code was compiled within limits before
		e.log.Warn("a plugin is compiled without the cache", "code", p.Mark, "error", err)
		return e.whole(p)
	}
	return body{compiled, size, &segments{p.data}}, nil
}

// whole compiles a module in this process.
func (e *Engine) whole(p *prepared) (body, error) {
	if p.wasm == nil {
		return body{}, errNoCode
	}
	compile := e.compile
	if e.folder != "" {
		compile = e.compileUncached
	}
	compiled, err := compile(context.Background(), p.wasm)
	if err == nil {
		e.work.compiled.Add(1)
	}
	return body{compiled, codeGrowth * uint64(len(p.wasm)), &segments{p.data}}, err
}

// codeGrowth is the size of machine code over that of its module, with the engine's own records.
const codeGrowth = 5

// markOf returns the name of a module under one version of the compiler.
func markOf(wasm []byte) string {
	h := sha256.New()
	h.Write(wasm)
	fmt.Fprint(h, goruntime.GOARCH, compilerVersion())
	return hex.EncodeToString(h.Sum(nil))
}

func compilerVersion() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/tetratelabs/wazero" {
			return d.Version
		}
	}
	return ""
}
