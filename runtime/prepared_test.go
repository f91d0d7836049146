package runtime_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// preparedLog is a log that goroutines share.
type preparedLog struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *preparedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// answering returns a module whose function run returns n.
func answering(n int32) *w.Module {
	var m w.Module
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.I32Const(n)))
	return &m
}

// prepareAnew compiles m in a new engine on dir, runs it, and returns its answer and the engine's log.
func prepareAnew(t *testing.T, dir, version string, m *w.Module) (answer, log string) {
	t.Helper()
	var text preparedLog
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if version != "" {
		e.SetVersion(version)
	}
	got, err := runtime.NewPool(compile(t, e, m), run{}, nil).Call(t.Context(), runtime.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(got), text.String()
}

// keptModules returns the files of prepared modules in a cache.
func keptModules(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "modules", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const (
	madeAgain = "cannot be used and is made again"
	madeFirst = "is prepared for the compiler"
)

func TestEngine_preparesAModuleOncePerVersion(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct{ version, log string }{
		{"", madeFirst}, {"", ""}, {"next", madeFirst}, {"next", ""}, {"", madeFirst},
	} {
		answer, log := prepareAnew(t, dir, c.version, answering(5))
		if answer != "5" || c.log == "" && log != "" || !strings.Contains(log, c.log) {
			t.Errorf("run %d: got %s and the log %q; want 5 and %q", i, answer, log, c.log)
		}
	}
	if files := keptModules(t, dir); len(files) != 1 {
		t.Errorf("got %v, want one file", files)
	}
}

func TestEngine_trustsNoChangedPreparedModule(t *testing.T) {
	swap := func(t *testing.T, dir, path string) {
		if answer, _ := prepareAnew(t, dir, "", answering(6)); answer != "6" {
			t.Fatalf("got %s, want 6", answer)
		}
		for _, other := range keptModules(t, dir) {
			if other != path {
				if err := os.Rename(other, path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write := func(change func([]byte) []byte) func(*testing.T, string, string) {
		return func(t *testing.T, _, path string) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, change(raw), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, dir, path string){
		"swapped":   swap,
		"empty":     write(func([]byte) []byte { return nil }),
		"truncated": write(func(b []byte) []byte { return b[:len(b)-1] }),
		"altered":   write(func(b []byte) []byte { return bytes.Replace(b, []byte("run"), []byte("ruN"), 1) }),
		"removed": func(t *testing.T, _, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			prepareAnew(t, dir, "", answering(5))
			damage(t, dir, keptModules(t, dir)[0])
			want := madeAgain
			if name == "removed" {
				want = madeFirst
			}
			for _, want := range []string{want, ""} {
				answer, log := prepareAnew(t, dir, "", answering(5))
				if answer != "5" || want == "" && log != "" || !strings.Contains(log, want) {
					t.Errorf("got %s and the log %q; want 5 and %q", answer, log, want)
				}
			}
		})
	}
}

// A cache without room, or without permission, costs only time.
func TestEngine_runsModulesThatItCannotKeep(t *testing.T) {
	dir := t.TempDir()
	prepareAnew(t, dir, "", answering(5))
	path := keptModules(t, dir)[0]
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil { // neither readable nor replaceable
		t.Fatal(err)
	}
	answer, log := prepareAnew(t, dir, "", answering(5))
	if answer != "5" || !strings.Contains(log, madeAgain) || !strings.Contains(log, "is not kept") {
		t.Errorf("got %s and the log %q; want 5 and both warnings", answer, log)
	}
}

// The imports of a kept module are checked against the host of this run.
func TestEngine_checksTheImportsOfAKeptModule(t *testing.T) {
	dir := t.TempDir()
	offer := runtime.HostFunc{Module: "host", Name: "f"}
	var m w.Module
	m.Import("host", "f", nil, nil)
	with := newEngine(t, &runtime.EngineOptions{CacheDir: dir, Host: []runtime.HostFunc{offer}})
	digest := fmt.Sprintf("%x", sha256.Sum256(m.Bytes()))
	before := with.Compiled(digest)
	compile(t, with, &m)
	if after := with.Compiled(digest); before || !after {
		t.Errorf("compiled: got %v before Compile and %v after it, want false and true", before, after)
	}
	without := newEngine(t, &runtime.EngineOptions{CacheDir: dir})
	if _, err := without.Compile(t.Context(), m.Bytes()); err == nil || !strings.Contains(err.Error(), "host.f") {
		t.Errorf("got %v, want that host.f is missing", err)
	}
}
