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
	"unicode"

	"github.com/tetratelabs/wazero"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// ErrImport is the cause when a module has imports that no host function provides.
var ErrImport = errors.New("missing imports")

// Module is a compiled module: immutable, shared, and safe for concurrent use. A caller may make any number of pools
// from one Module; by itself it costs no memory per call.
type Module struct {
	engine   *Engine
	compiled wazero.CompiledModule
	binary   exports
	custom   map[string][]byte // its sections for dialects
	minimum  uint64            // initial memory in bytes
	beside   uint64            // bytes of host memory of an instance, beside its linear memory
	info     *rewrite.Info

	mu   sync.Mutex
	refs int // the owner and each pool
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
	digest := e.digestOf(wasm)
	p, err := e.prepare(wasm, digest)
	if err != nil {
		return nil, err
	}
	select {
	case e.compiles <- struct{}{}:
		defer func() { <-e.compiles }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := e.elsewhere(ctx, p); err != nil {
		return nil, err
	}
	compiled, err := e.compileOrRepair(context.WithoutCancel(ctx), p.wasm)
	if err != nil {
		return nil, err
	}
	e.keepPrepared(p, digest)
	return newModule(e, compiled, p), nil
}

func newModule(e *Engine, compiled wazero.CompiledModule, p *prepared) *Module {
	info := p.Info
	info.Data = p.data
	return &Module{engine: e, compiled: compiled, binary: p.Exports, custom: p.Custom, minimum: p.Minimum, beside: p.Beside, info: &info, refs: 1}
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
	data, ok := m.custom[name]
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

// compileOrRepair compiles. If the cache is damaged, it empties the cache and compiles again.
func (e *Engine) compileOrRepair(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	c, err := e.compile(ctx, wasm)
	if err == nil || e.folder == "" || !strings.Contains(err.Error(), "compilationcache:") {
		return c, err
	}
	e.log.Warn("the cache of compiled plugins is damaged and is rebuilt", "dir", e.folder, "error", err)
	if err := e.folder.Empty(); err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	return e.compile(ctx, wasm)
}

// compile runs the compiler on this goroutine, so that its panics can be recovered.
func (e *Engine) compile(ctx context.Context, wasm []byte) (c wazero.CompiledModule, err error) {
	defer func() {
		if r := recover(); r != nil {
			e.log.Error("the compiler failed", "panic", r, "stack", string(debug.Stack()))
			c, err = nil, errors.New("the compiler cannot compile this module")
		}
	}()
	c, err = e.runtime.CompileModule(ctx, wasm)
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	return c, nil
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
	_, ok := m.binary[name]
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
	return m.release()
}

// retain adds a pool's reference; false means that the module is closed.
func (m *Module) retain() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return false
	}
	m.refs++
	return true
}

func (m *Module) release() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refs--; m.refs > 0 {
		return nil
	}
	return m.compiled.Close(context.Background())
}
