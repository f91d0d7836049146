package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/tetratelabs/wazero"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// ErrImport is the cause when a module has imports that no host function provides.
var ErrImport = errors.New("missing imports")

// Module is a compiled module: immutable, shared, and safe for concurrent use. A caller may make any number of pools
// from one Module; by itself it costs no memory per call. Modules of equal bytes share their code.
type Module struct {
	code *code

	mu   sync.Mutex
	gone bool
}

// exports are a module's exported functions by name.
type exports map[string]wasmbin.Export

// Compile checks a module and compiles it, or takes it from the cache. It rejects modules over a static limit, and
// modules with missing imports, all of which the error names up to a limit. Compilation in this process cannot be
// interrupted: ctx ends the wait for a free processor, and the work of a Compiler.
func (e *Engine) Compile(ctx context.Context, wasm []byte) (*Module, error) {
	if ok, _ := e.users.enter(-1); !ok {
		return nil, fmt.Errorf("engine: %w", ErrClosed)
	}
	defer e.users.leave()
	digest := digestText(wasm)
	if err := e.ahead.await(ctx, digest); err != nil {
		return nil, err
	}
	if c := e.loaded.find(digest); c != nil {
		return &Module{code: c}, nil
	}
	p, err := e.prepare(wasm, digest)
	if err != nil {
		return nil, err
	}
	b, err := e.load(ctx, p)
	if errors.Is(err, errNoCode) { // it was removed from the cache, and the facts were not
		if p, err = e.prepareAnew(wasm); err == nil {
			b, err = e.load(ctx, p)
		}
	}
	if err != nil {
		return nil, err
	}
	e.keepPrepared(p, digest)
	return &Module{code: e.adopt(digest, p, b)}, nil
}

// Find returns the module with this digest, in 64 hexadecimal digits, if it is loaded or LoadAhead loads it, and nil if
// not. The caller needs not have its bytes.
func (e *Engine) Find(ctx context.Context, digest string) *Module {
	if ok, _ := e.users.enter(-1); !ok {
		return nil
	}
	defer e.users.leave()
	if e.ahead.await(ctx, digest) != nil {
		return nil
	}
	if c := e.loaded.find(digest); c != nil {
		return &Module{code: c}
	}
	return nil
}

// adopt returns the code of a module that was loaded, with a reference.
func (e *Engine) adopt(digest string, p *prepared, b body) *code {
	c, added := e.loaded.add(&code{engine: e, digest: digest, facts: p.facts, refs: 1, body: b, used: time.Now(), shelves: map[*shelf]bool{}})
	if !added { // equal bytes were compiled meanwhile
		_ = b.close()
	}
	e.loaded.fit()
	return c
}

// ReadAgainBy sets a function that returns the module's bytes again, in case it is unloaded and the cache has lost its
// compiled form.
func (m *Module) ReadAgainBy(read func(context.Context) ([]byte, error)) {
	m.code.mu.Lock()
	defer m.code.mu.Unlock()
	m.code.again = read
}

// maxSection bounds a custom section for dialects, in bytes; a larger one is ignored.
const maxSection = 1 << 20

// dialectSections copies the custom sections that dialects read.
func dialectSections(b *wasmbin.Binary) map[string][]byte {
	var sections map[string][]byte
	for _, name := range []string{wasmbin.CommandSection, wasmbin.ProducersSection} {
		if data, ok := b.CustomSection(name); ok && len(data) <= maxSection {
			if sections == nil {
				sections = map[string][]byte{}
			}
			sections[name] = bytes.Clone(data)
		}
	}
	return sections
}

// CustomSection returns a custom section for dialects; the caller must not modify it.
func (m *Module) CustomSection(name string) ([]byte, bool) {
	data, ok := m.code.Custom[name]
	return data, ok
}

// CheckOutline rejects a module over a static limit that can be checked without its code. It returns the initial memory
// of an instance and the host memory that it needs beside, in bytes, for Limits.CheckStart.
func CheckOutline(b *wasmbin.Binary) (memory, beside uint64, err error) {
	beside, err = wasmbin.Outline(b, wasmbin.Limits{Memory: maxMemory})
	return startMemory(b), beside, err
}

// startMemory returns the initial memory of an instance, in bytes.
func startMemory(b *wasmbin.Binary) uint64 {
	if b.Memory == nil {
		return 0
	}
	return uint64(b.Memory.Min) * wasmbin.PageSize
}

// compile runs the compiler on this goroutine, so that its panics can be recovered.
func (e *Engine) compile(ctx context.Context, wasm []byte) (c wazero.CompiledModule, err error) {
	err = e.guard(func() (err error) {
		c, err = e.runtime.CompileModule(ctx, wasm)
		if err != nil {
			err = fmt.Errorf("compile: %w", err)
		}
		return err
	})
	return c, err
}

// guard returns a panic of the compiler as an error.
func (e *Engine) guard(compile func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e.log.Error("the compiler failed", "panic", r, "stack", string(debug.Stack()))
			err = errors.New("the compiler cannot compile this module")
		}
	}()
	return compile()
}

// maxNamed bounds the missing imports that an error names; modules for another host miss hundreds.
const maxNamed = 20

// checkImports verifies that the host provides every import of a module.
func (e *Engine) checkImports(imports []wasmbin.Import) error {
	var missing []string
	for _, i := range imports {
		if problem := e.checkImport(i); problem != "" && !slices.Contains(missing, problem) {
			missing = append(missing, problem)
		}
	}
	if n := len(missing); n > maxNamed {
		missing = append(missing[:maxNamed], fmt.Sprintf("and %d more", n-maxNamed))
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: this host does not offer %s", ErrImport, strings.Join(missing, ", "))
}

func (e *Engine) checkImport(i wasmbin.Import) string {
	name := shown(i.Module) + "." + shown(i.Name)
	if i.Kind != wasmbin.Func {
		return fmt.Sprintf("%s (a %s)", name, i.Kind)
	}
	f, ok := e.host[hostKey{i.Module, i.Name}]
	if !ok {
		return name
	}
	if string(f.Params) != string(i.Params) || string(f.Results) != string(i.Results) {
		return fmt.Sprintf("%s as %s (it is %s)", name, signature(i.Params, i.Results), signature(f.Params, f.Results))
	}
	return ""
}

// maxShown bounds a name in an error, in bytes.
const maxShown = 100

// shown formats a name from a module for errors: cut if it is long, and quoted if it has characters that do not print.
func shown(name string) string {
	if len(name) > maxShown {
		name = strings.ToValidUTF8(name[:maxShown], "") + "…"
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// signature formats a function type as (i32, i32) -> i64.
func signature(params, results []byte) string {
	if len(results) == 1 {
		return "(" + typeNames(params) + ") -> " + typeName(results[0])
	}
	return "(" + typeNames(params) + ") -> (" + typeNames(results) + ")"
}

func typeNames(types []byte) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = typeName(t)
	}
	return strings.Join(names, ", ")
}

func typeName(t byte) string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case 0x7b:
		return "v128"
	case 0x70:
		return "funcref"
	case 0x6f:
		return "externref"
	}
	return fmt.Sprintf("%#x", t)
}

// HasExport reports whether the module exports a function of this name.
func (m *Module) HasExport(name string) bool {
	_, ok := m.code.Exports[name]
	return ok
}

// Close releases the owner's reference. The compiled code is released with the last pool, so Close never waits and
// never breaks a call; it may be called more than once.
func (m *Module) Close() error {
	m.mu.Lock()
	gone := m.gone
	m.gone = true
	m.mu.Unlock()
	if gone {
		return nil
	}
	return m.code.release(nil)
}

// lend adds the reference of a pool, for its shelf; false means that the module is closed.
func (m *Module) lend(s *shelf) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return false
	}
	m.code.keep(s)
	return true
}
