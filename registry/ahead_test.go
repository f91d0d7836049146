package registry

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	spruntime "github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

func TestLoader_compilesAheadOfTheFirstCall(t *testing.T) {
	dir := t.TempDir()
	path := guest{manifest: tools("say"), answer: says("1")}.write(t, dir, "p.wasm")
	r, err := newRegistry(options(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	r.watchFolders(t.Context())
	r.inputs.mu.Lock()
	m := r.inputs.files[path].module
	r.inputs.mu.Unlock()
	if m.Ready() {
		t.Fatal("Ready() before the first call = true, want false")
	}
	r.ahead.after = 0
	r.life.work.Go(r.ahead.run)
	eventually(t, "compiled", m.Ready)
}

// cachedEngine returns an engine with a cache folder, which has compiled some files.
func cachedEngine(t *testing.T, files ...string) *spruntime.Engine {
	t.Helper()
	return cachedEngineIn(t, t.TempDir(), files...)
}

func cachedEngineIn(t *testing.T, cache string, files ...string) *spruntime.Engine {
	t.Helper()
	engine, err := spruntime.NewEngine(t.Context(), &spruntime.EngineOptions{CacheDir: cache, Host: append(native.HostFuncs(), wasi.HostFuncs()...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error("engine:", err)
		}
	})
	for _, f := range files {
		wasm, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := engine.Compile(t.Context(), wasm)
		if err != nil {
			t.Fatal(err)
		}
		compiled.Close()
	}
	return engine
}

// moduleAt returns the module of a file.
func moduleAt(r *Registry, path string) *plugin.Module {
	r.inputs.mu.Lock()
	defer r.inputs.mu.Unlock()
	return r.inputs.files[path].module
}

// A module that a former run has compiled is loaded after the first list, and its image built; another one waits for the
// quiet time.
func TestAhead_loadsCompiledModulesAfterTheFirstList(t *testing.T) {
	dir := t.TempDir()
	path := guest{manifest: tools("say"), answer: says("1")}.write(t, dir, "p.wasm")
	other := guest{manifest: tools("tell"), answer: says("2")}.write(t, dir, "q.wasm")
	o := options(t, dir)
	o.Engine = cachedEngine(t, path)
	r, err := newRegistry(o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	prepared := make(chan bool, 1)
	prepare := r.ahead.prepare
	r.ahead.prepare = func(ctx context.Context, m *plugin.Module) {
		before := o.Engine.Stats().Loaded
		prepare(ctx, m)
		prepared <- o.Engine.Stats().Loaded > before
	}
	r.ahead.after = time.Hour
	r.watchFolders(t.Context())
	m, uncompiled := moduleAt(r, path), moduleAt(r, other)
	r.life.work.Go(r.ahead.run)
	if m.Ready() {
		t.Error("loaded before the first list")
	}
	r.AwaitComplete(t.Context())
	if !<-prepared || !m.Ready() {
		t.Error("the module was not loaded, or has no image")
	}
	if uncompiled.Ready() {
		t.Error("a module was compiled within the quiet time")
	}
}

// The code of the module with the most calls in former runs is loaded while the folder is read, and let go if no plugin
// has it any more.
func TestAhead_expectsTheMostUsed(t *testing.T) {
	for _, stays := range []bool{true, false} {
		dir := t.TempDir()
		path := guest{manifest: tools("say"), answer: says("1")}.write(t, dir, "p.wasm")
		o := options(t, dir)
		o.Engine, o.State = cachedEngine(t, path), t.TempDir()
		former := open(t, o)
		wantSays(t, former, "p-say", "1")
		closeNow(t, former)
		if !stays {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		r, err := newRegistry(o)
		if err != nil {
			t.Fatal(err)
		}
		r.ahead.after = time.Hour
		r.ahead.expect()
		eventually(t, "loaded", func() bool { return o.Engine.Stats().Loaded > 0 })
		r.watchFolders(t.Context())
		r.life.work.Go(r.ahead.run)
		if stays {
			eventually(t, "taken", moduleAt(r, path).Ready)
			wantSays(t, r, "p-say", "1")
		} else {
			eventually(t, "unloaded", func() bool { return o.Engine.Stats().Loaded == 0 })
		}
		closeNow(t, r)
	}
}

// The code of the two modules with the most calls is kept uncompressed when calls were counted, and no other.
func TestAhead_keepsTheMostUsedPlain(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	var paths []string
	text := func(i int) string { return strings.Repeat("a", i+1) } // its length is in the code: equal code is stored once
	for i := range 3 {
		paths = append(paths, guest{manifest: tools("say"), answer: says(text(i))}.write(t, dir, fmt.Sprintf("p%d.wasm", i)))
	}
	o := options(t, dir)
	o.Engine, o.State = cachedEngineIn(t, cache, paths...), t.TempDir()
	sizes := func() map[string]int64 {
		files, err := os.ReadDir(filepath.Join(cache, "code"))
		if err != nil || len(files) != len(paths) {
			t.Fatalf("got %v, %v; want the code of %d modules", files, err, len(paths))
		}
		all := map[string]int64{}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				t.Fatal(err)
			}
			all[f.Name()] = info.Size()
		}
		return all
	}
	// grown returns the names of the files that are larger than packed ones, after calls of each plugin.
	packed := sizes()
	grown := func(calls ...int) (names []string) {
		r := open(t, o)
		for i, n := range calls {
			for range n {
				wantSays(t, r, fmt.Sprintf("p%d-say", i), text(i))
			}
		}
		closeNow(t, r)
		for name, size := range sizes() {
			if size > packed[name] {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	first, same, changed := grown(5, 3, 1), grown(1, 0, 0), grown(0, 0, 9)
	if len(first) != 2 || !slices.Equal(first, same) {
		t.Errorf("got plain code in %q and after one more call in %q, want that of two modules", first, same)
	}
	if len(changed) != 2 || slices.Equal(first, changed) {
		t.Errorf("got plain code in %q before and in %q after calls of the third module, want it among two", first, changed)
	}
}

// The code that was expected serves without a second look at the file.
func TestAhead_expectedNeedsNoFile(t *testing.T) {
	dir := t.TempDir()
	path := guest{manifest: tools("say"), answer: says("1")}.write(t, dir, "p.wasm")
	o := options(t, dir)
	o.Engine, o.State = cachedEngine(t, path), t.TempDir()
	former := open(t, o)
	wantSays(t, former, "p-say", "1")
	closeNow(t, former)
	r, err := newRegistry(o)
	if err != nil {
		t.Fatal(err)
	}
	defer closeNow(t, r)
	r.ahead.expect()
	defer r.ahead.loseExpected()
	r.watchFolders(t.Context())
	m := moduleAt(r, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Get(t.Context()); err != nil {
		t.Errorf("got %v, want the module", err)
	}
}

// The modules with the most calls in former runs are loaded at once, and the others by the number of their calls.
func TestAhead_preparesTheMostUsedFirst(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 4 {
		paths = append(paths, guest{manifest: tools("say"), answer: says(fmt.Sprint(i))}.write(t, dir, fmt.Sprintf("p%d.wasm", i)))
	}
	o := options(t, dir)
	o.Engine, o.State = cachedEngine(t, paths...), t.TempDir()
	former := open(t, o)
	for i, calls := range []int{1, 0, 3, 2} {
		for range calls {
			wantSays(t, former, fmt.Sprintf("p%d-say", i), fmt.Sprint(i))
		}
	}
	closeNow(t, former)
	r, err := newRegistry(o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	order := make(chan string, len(paths))
	r.ahead.prepare = func(_ context.Context, m *plugin.Module) { order <- filepath.Base(m.Path) }
	r.ahead.after = time.Hour
	r.watchFolders(t.Context())
	r.life.work.Go(r.ahead.run)
	for _, want := range []string{"p2.wasm", "p3.wasm"} {
		if got := <-order; got != want {
			t.Errorf("before the first list: got %s, want %s", got, want)
		}
	}
	r.AwaitComplete(t.Context())
	for _, want := range []string{"p0.wasm", "p1.wasm"} {
		if got := <-order; got != want {
			t.Errorf("after the first list: got %s, want %s", got, want)
		}
	}
}

// Nothing is loaded ahead of its first call that would take the room of other modules.
func TestAhead_loadsNothingWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	path := guest{manifest: tools("say"), answer: says("1")}.write(t, dir, "p.wasm")
	r, err := newRegistry(options(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	engine := cachedEngine(t, path)
	engine.LimitLoaded(1)
	r.ahead.engine = engine
	r.ahead.prepare = func(context.Context, *plugin.Module) { t.Error("it was prepared") }
	r.watchFolders(t.Context())
	m := moduleAt(r, path)
	if r.ahead.get(m); m.Ready() {
		t.Error("it was loaded")
	}
}
