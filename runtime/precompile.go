package runtime

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/experimental"
)

const (
	// maxCache bounds the folder of compiled modules, in bytes: some hundred plugins. Beyond it the oldest entries go,
	// until a quarter is free.
	maxCache = 2 << 30
	// staleTemporary is when a file that was not renamed to an entry belongs to nobody any more.
	staleTemporary = time.Hour
	// known is the folder in the cache of the names of modules that were compiled elsewhere.
	known = "known"
)

// Precompile compiles a module that Engine.Compile has prepared, only to fill the cache in dir. It is for a process of
// its own, with limits: the compiler may take any time and memory, and may crash.
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

// elsewhere has a module compiled by the engine's Compiler, unless that was done before: then it is in the cache, or
// if it went from there it can be compiled here all the same.
func (e *Engine) elsewhere(ctx context.Context, wasm []byte) error {
	if e.compiler == nil || e.cacheDir == "" {
		return nil
	}
	mark := filepath.Join(e.cacheDir, known, markOf(wasm))
	if _, err := os.Lstat(mark); err == nil {
		return nil
	}
	if err := e.compiler(ctx, wasm); err != nil {
		return err
	}
	if err := e.trimCache(maxCache); err != nil {
		e.log.Warn("the cache of compiled plugins cannot be kept small", "dir", e.cacheDir, "error", err)
	}
	err := os.MkdirAll(filepath.Dir(mark), 0o700)
	if err == nil {
		err = os.WriteFile(mark, nil, 0o600)
	}
	if err != nil { // it will be compiled elsewhere once more
		e.log.Warn("the cache of compiled plugins cannot be written", "error", err)
	}
	return nil
}

// markOf names a module for one version of the compiler.
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

// entry is one file of the cache.
type entry struct {
	path string
	info fs.FileInfo
}

// trimCache removes the oldest entries when there are more than max bytes, and what was left half done. Other
// processes may do the same at once.
func (e *Engine) trimCache(max int64) error {
	paths, err := filepath.Glob(filepath.Join(e.cacheDir, "wazero-*", "*"))
	if err != nil {
		return err
	}
	var all []entry
	var size int64
	for _, path := range paths {
		info, err := os.Lstat(path)
		switch {
		case err != nil: // gone already
		case strings.HasSuffix(path, ".tmp") && time.Since(info.ModTime()) > staleTemporary:
			_ = os.Remove(path)
		default:
			all = append(all, entry{path, info})
			size += info.Size()
		}
	}
	if size <= max {
		return nil
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(a.info.ModTime().Compare(b.info.ModTime()), strings.Compare(a.path, b.path))
	})
	for _, old := range all {
		if size <= max-max/4 {
			break
		}
		if err := os.Remove(old.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= old.info.Size()
	}
	return nil
}
