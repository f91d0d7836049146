package runtime_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// compiledBefore returns a cache in which a former run has compiled m, and the module's digest.
func compiledBefore(t *testing.T, m *w.Module) (dir, digest string) {
	t.Helper()
	dir = t.TempDir()
	if answer, _ := prepareAnew(t, dir, "", m); answer == "" {
		t.Fatal("no answer")
	}
	return dir, filepath.Base(keptModules(t, dir)[0])
}

func TestEngine_LoadAhead_sharesTheCodeWithCompile(t *testing.T) {
	m := answering(5)
	dir, digest := compiledBefore(t, m)
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir})
	release := e.LoadAhead(digest)
	compiled := compile(t, e, m)
	size := e.Stats().Loaded
	release()
	if size == 0 || e.Stats().Loaded != size {
		t.Errorf("got %d bytes loaded, and %d after the release; want the same, not 0", size, e.Stats().Loaded)
	}
	got, err := runtime.NewPool(compiled, run{}, nil).Call(t.Context(), runtime.Request{}, nil)
	if string(got) != "5" || err != nil {
		t.Errorf("got %s, %v; want 5, no error", got, err)
	}
}

func TestEngine_Find_returnsWhatIsLoaded(t *testing.T) {
	dir, digest := compiledBefore(t, answering(5))
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir})
	if e.Find(t.Context(), digest) != nil {
		t.Error("a module was found that nobody loads")
	}
	release := e.LoadAhead(digest)
	found := e.Find(t.Context(), digest)
	release()
	if found == nil {
		t.Fatal("the module that is loaded ahead was not found")
	}
	got, err := runtime.NewPool(found, run{}, nil).Call(t.Context(), runtime.Request{}, nil)
	if string(got) != "5" || err != nil {
		t.Errorf("got %s, %v; want 5, no error", got, err)
	}
	if err := found.Close(); err != nil {
		t.Error(err)
	}
}

func TestEngine_LoadAhead_leavesNothingUnlessCompileTakesIt(t *testing.T) {
	dir, digest := compiledBefore(t, answering(5))
	e := newEngine(t, &runtime.EngineOptions{CacheDir: dir})
	release := e.LoadAhead(digest)
	again := e.LoadAhead(digest) // of a second registry, perhaps
	release()
	again()
	if n := e.Stats().Loaded; n != 0 {
		t.Errorf("got %d bytes loaded, want 0", n)
	}
	e.LoadAhead("unknown")()
	if e.IsBusy() {
		t.Error("the engine is busy after all loads have ended")
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	e.LoadAhead(digest)()
}

// Damaged code is not loaded ahead, and made again by Compile.
func TestEngine_LoadAhead_leavesDamageToCompile(t *testing.T) {
	m := answering(5)
	for _, folder := range []string{"code", "modules"} {
		dir, digest := compiledBefore(t, m)
		files, err := filepath.Glob(filepath.Join(dir, folder, "*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		raw, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		raw[len(raw)-1] ^= 1
		if err := os.WriteFile(files[0], raw, 0o600); err != nil {
			t.Fatal(err)
		}
		e := newEngine(t, &runtime.EngineOptions{CacheDir: dir})
		release := e.LoadAhead(digest)
		got, err := runtime.NewPool(compile(t, e, m), run{}, nil).Call(t.Context(), runtime.Request{}, nil)
		release()
		if string(got) != "5" || err != nil {
			t.Errorf("%s: got %s, %v; want 5, no error", folder, got, err)
		}
	}
}
