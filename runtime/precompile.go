package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	goruntime "runtime"
	"runtime/debug"

	"github.com/tetratelabs/wazero/experimental"
)

// maxCache bounds the folder of compiled modules, in bytes: some hundred plugins.
const maxCache = 2 << 30

// Precompile compiles a module that Engine.Compile has prepared, only to fill the cache in dir. It should run in a
// separate process with limits: the compiler may take any time and memory, and may crash.
func Precompile(ctx context.Context, dir string, wasm []byte) error {
	e, err := NewEngine(ctx, &EngineOptions{CacheDir: dir})
	if err != nil {
		return err
	}
	c, err := e.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, goruntime.GOMAXPROCS(0)), wasm)
	if err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	return errors.Join(c.Close(ctx), e.Close(ctx))
}

// elsewhere runs the engine's Compiler for a module that is not marked as compiled. A marked module is in the cache;
// if it was evicted since, compiling it in this process is safe.
func (e *Engine) elsewhere(ctx context.Context, p *prepared) error {
	if e.compiler == nil || e.folder == "" {
		return nil
	}
	if e.folder.Known(p.Mark) {
		return nil
	}
	if err := e.compiler(ctx, p.wasm); err != nil {
		return err
	}
	if err := e.folder.Trim(maxCache); err != nil {
		e.log.Warn("the cache of compiled plugins cannot be kept small", "dir", e.folder, "error", err)
	}
	if err := e.folder.Mark(p.Mark); err != nil { // it will be compiled by the Compiler again
		e.log.Warn("the cache of compiled plugins cannot be written", "error", err)
	}
	return nil
}

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
