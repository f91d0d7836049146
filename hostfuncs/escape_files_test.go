package hostfuncs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// canary is the text that no guest may read, and that must be unchanged afterwards.
const canary = "CANARY-5f2c"

// do is one step of the guest; its source is in cmd/sallyport/testdata/effects.
type do map[string]any

// fileEscape is one attempt to leave the grants. In paths, W is the folder that the guest may write, R the one that
// it may read, S one without a grant, and H the home folder with Sallyport's own files.
type fileEscape struct {
	name  string
	steps []do
	// prepare creates files of the operator or other programs.
	prepare func(w *escapeWorld) error
	// meanwhile runs concurrently with the guest until stop is closed.
	meanwhile func(w *escapeWorld, stop <-chan struct{})
	grants    []string // in addition to those of W and R
	// silent is set if no denial must be recorded: the guest requests only granted effects.
	silent bool
}

// fileEscapes returns the attempts that must fail. Those of one class have a twin in fileTwins.
func fileEscapes() []fileEscape {
	link := func(target, name string) func(*escapeWorld) error {
		return func(w *escapeWorld) error { return os.Symlink(w.path(target), w.path(name)) }
	}
	return []fileEscape{
		{name: ".. from a granted folder", steps: []do{{"do": "read", "path": "W/../secret/key"}}},
		{name: ".. out of the root", steps: []do{{"do": "read", "path": "W/../../../../../../../../S/key"}}},
		{name: ".. to write", steps: []do{{"do": "write", "path": "W/../secret/key", "text": "x"}}},
		{name: "absolute path", steps: []do{{"do": "read", "path": "S/key"}}},
		{name: "absolute path, to write", steps: []do{{"do": "write", "path": "S/key", "text": "x"}}},
		{name: "make a file beside", steps: []do{{"do": "write", "path": "S/new", "text": "x"}}},
		{name: "list what is not granted", steps: []do{{"do": "list", "path": "S"}}},
		{name: "whether a file is there", steps: []do{{"do": "stat", "path": "S/key"}}},
		{name: "remove what is not granted", steps: []do{{"do": "remove", "path": "S/key"}}},
		{name: "truncate what is not granted", steps: []do{{"do": "truncate", "path": "S/key"}}},
		{name: "times of what is not granted", steps: []do{{"do": "chtimes", "path": "S/key"}}},
		{name: "a link of the guest, absolute", steps: []do{{"do": "symlink", "path": "W/l", "to": "S/key"}, {"do": "read", "path": "W/l"}}},
		{name: "a link of the guest, upwards", steps: []do{{"do": "symlink", "path": "W/l", "to": "../secret/key"}, {"do": "read", "path": "W/l"}}},
		{name: "a link of the guest, through a folder", steps: []do{{"do": "mkdir", "path": "W/d"}, {"do": "symlink", "path": "W/d/l", "to": "x/../../../secret"}, {"do": "read", "path": "W/d/l/key"}}},
		{name: "a link that moves to where it leads outside", steps: []do{{"do": "mkdir", "path": "W/d"}, {"do": "symlink", "path": "W/d/l", "to": "../ok"}, {"do": "rename", "path": "W/d/l", "to": "W/l"}, {"do": "read", "path": "W/l"}}},
		{name: "a link of the operator, to a file", prepare: link("S/key", "W/l"), steps: []do{{"do": "read", "path": "W/l"}}},
		{name: "a link of the operator, to a folder", prepare: link("S", "W/l"), steps: []do{{"do": "read", "path": "W/l/key"}}},
		{name: "a link of the operator, to write", prepare: link("S/key", "W/l"), steps: []do{{"do": "write", "path": "W/l", "text": "x"}}},
		{name: "a link of the operator, to the root", prepare: link("/", "W/l"), steps: []do{{"do": "read", "path": "W/l/etc/passwd"}}},
		{name: "hard link out", steps: []do{{"do": "link", "path": "S/key", "to": "W/k"}, {"do": "read", "path": "W/k"}}},
		{name: "hard link of what is read-only", steps: []do{{"do": "link", "path": "R/page", "to": "W/p"}, {"do": "write", "path": "W/p", "text": "x"}, {"do": "read", "path": "R/page"}}},
		{name: "rename across", steps: []do{{"do": "rename", "path": "S/key", "to": "W/key"}, {"do": "read", "path": "W/key"}}},
		{name: "rename onto", steps: []do{{"do": "write", "path": "W/n", "text": "x"}, {"do": "rename", "path": "W/n", "to": "S/key"}}},
		{name: "rename out of what is read-only", steps: []do{{"do": "rename", "path": "R/page", "to": "W/page"}}},
		{name: "write what is read-only", steps: []do{{"do": "write", "path": "R/page", "text": "x"}}},
		{name: "/proc/self/root", steps: []do{{"do": "read", "path": "/proc/self/root/S/key"}}},
		{name: "/proc/self/environ", steps: []do{{"do": "read", "path": "/proc/self/environ"}}},
		{name: "/dev/null and its neighbours", steps: []do{{"do": "list", "path": "/dev"}, {"do": "write", "path": "/dev/full", "text": "x"}}},
		{name: "dangling link, then create", prepare: link("S/new", "W/l"), steps: []do{{"do": "write", "path": "W/l", "text": "x"}}},
		{name: "another case", steps: []do{{"do": "read", "path": "S/KEY"}, {"do": "read", "path": "W/../SECRET/key"}}},
		{name: "NUL in a name", steps: []do{{"do": "read", "path": "W/ok\x00/../../secret/key"}}},
		{name: "a very long name", silent: true, steps: []do{{"do": "read", "path": "W/" + strings.Repeat("n", 5000)}, {"do": "read", "path": "W/" + strings.Repeat("d/", 5000) + "x"}}},
		{name: "a fifo", silent: true, prepare: func(w *escapeWorld) error { return exec.Command("mkfifo", w.path("W/fifo")).Run() },
			steps: []do{{"do": "read", "path": "W/fifo"}}},
		{name: ".git/hooks", prepare: func(w *escapeWorld) error { return os.MkdirAll(w.path("W/.git/hooks"), 0o755) },
			steps: []do{{"do": "write", "path": "W/.git/hooks/pre-commit", "text": "x"}, {"do": "write", "path": "W/.git/config", "text": "x"}}},
		{name: "editor and shell start-up files", steps: []do{{"do": "write", "path": "W/.bashrc", "text": "x"}, {"do": "write", "path": "W/.mcp.json", "text": "x"}, {"do": "mkdir", "path": "W/.vscode"}}},
		{name: "~/.ssh under a wide grant", grants: []string{"fs: read H/**"}, steps: []do{{"do": "read", "path": "H/.ssh/id"}}},
		{name: "Sallyport's own files, by grant", grants: []string{"fs: write H/**"}, steps: []do{{"do": "read", "path": "H/sallyport/key"}, {"do": "write", "path": "H/sallyport/sallyport.yaml", "text": "x"}}},
		{name: "Sallyport's own files, by their very name", grants: []string{"fs: write H/sallyport/sallyport.yaml"}, steps: []do{{"do": "write", "path": "H/sallyport/sallyport.yaml", "text": "x"}}},
		{name: "Sallyport's own files, through a link", prepare: link("H/sallyport", "W/own"), grants: []string{"fs: write H/**"}, steps: []do{{"do": "read", "path": "W/own/key"}}},
		{name: "Sallyport's own files, by a second name that another program made", prepare: func(w *escapeWorld) error { return os.Link(w.path("H/sallyport/key"), w.path("W/k")) },
			steps: []do{{"do": "read", "path": "W/k"}, {"do": "append", "path": "W/k", "text": "x"}}},
		{name: "the folder above Sallyport's files, away", grants: []string{"fs: write H/**"}, steps: []do{{"do": "rename", "path": "H/sallyport", "to": "H/mine"}, {"do": "read", "path": "H/mine/key"}}},
		{name: "a folder is swapped for a link while the guest reads", silent: true, meanwhile: swap, steps: []do{{"do": "reads", "path": "W/flip/key", "times": 400}}},
		{name: "a file is swapped for a link while the guest writes", silent: true, meanwhile: swapFile, steps: []do{{"do": "writes", "path": "W/flip/key", "text": "x", "times": 50}}},
	}
}

// fileTwins returns the same attempts under a grant: each must succeed.
func fileTwins() []fileEscape {
	return []fileEscape{
		{name: "read", steps: []do{{"do": "read", "path": "W/ok"}, {"do": "read", "path": "W/../work/ok"}, {"do": "list", "path": "W"}, {"do": "stat", "path": "R/page"}}},
		{name: "write", steps: []do{{"do": "write", "path": "W/n", "text": "x"}, {"do": "append", "path": "W/n", "text": "y"}, {"do": "truncate", "path": "W/n"}, {"do": "chtimes", "path": "W/n"}}},
		{name: "links inside", steps: []do{{"do": "symlink", "path": "W/l", "to": "ok"}, {"do": "read", "path": "W/l"}, {"do": "link", "path": "W/ok", "to": "W/k"}, {"do": "read", "path": "W/k"}}},
		{name: "a link of the operator that stays inside", prepare: func(w *escapeWorld) error { return os.Symlink(w.path("R"), w.path("W/r")) },
			steps: []do{{"do": "read", "path": "W/r/page"}}},
		{name: "rename", steps: []do{{"do": "rename", "path": "W/ok", "to": "W/other"}, {"do": "mkdir", "path": "W/d"}, {"do": "rename", "path": "W/d", "to": "W/e"}}},
		{name: "a hook that is spelled out", prepare: func(w *escapeWorld) error { return os.MkdirAll(w.path("W/.git/hooks"), 0o755) },
			grants: []string{"fs: write W/.git/hooks/pre-commit"}, steps: []do{{"do": "write", "path": "W/.git/hooks/pre-commit", "text": "x"}}},
		{name: "a key that is spelled out", grants: []string{"fs: read H/.ssh/id"}, steps: []do{{"do": "stat", "path": "H/.ssh/id"}}},
	}
}

// swap alternates W/flip between a folder and a link to the secret folder.
func swap(w *escapeWorld, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			_ = os.RemoveAll(w.path("W/flip"))
			_ = os.Mkdir(w.path("W/flip"), 0o755)
			_ = os.WriteFile(w.path("W/flip/key"), []byte("fine"), 0o644)
			_ = os.RemoveAll(w.path("W/flip"))
			_ = os.Symlink(w.path("S"), w.path("W/flip"))
		}
	}
}

func swapFile(w *escapeWorld, stop <-chan struct{}) {
	_ = os.Mkdir(w.path("W/flip"), 0o755)
	for {
		select {
		case <-stop:
			return
		default:
			_ = os.Remove(w.path("W/flip/key"))
			_ = os.Symlink(w.path("S/key"), w.path("W/flip/key"))
		}
	}
}

// escapeWorld is a host with protected files.
type escapeWorld struct {
	dir   string
	audit string
	pool  *runtime.Pool
}

// path replaces the placeholders of folders.
func (w *escapeWorld) path(p string) string {
	for letter, folder := range map[string]string{"W": "work", "R": "read", "S": "secret", "H": "home"} {
		if p == letter || strings.HasPrefix(p, letter+"/") {
			return filepath.Join(w.dir, folder) + p[1:] // not cleaned: the guest must see ..
		}
		p = strings.ReplaceAll(p, "/"+letter+"/", "/"+strings.TrimPrefix(filepath.Join(w.dir, folder), "/")+"/")
	}
	return p
}

func newEscapeWorld(t *testing.T, pool *runtime.Pool) *escapeWorld {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &escapeWorld{dir: dir, audit: filepath.Join(t.TempDir(), "audit"), pool: pool}
	for name, text := range map[string]string{
		"work/ok": "fine", "read/page": "page", "secret/key": canary, "home/.ssh/id": canary,
		"home/sallyport/key": canary, "home/sallyport/sallyport.yaml": canary, "home/notes": "fine",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// outside returns all files that the guest must not change.
func (w *escapeWorld) outside(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range []string{"read", "secret", "home"} {
		err := filepath.WalkDir(filepath.Join(w.dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			raw, err := os.ReadFile(path)
			all[path] = fmt.Sprint(string(raw), info.ModTime())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// run performs the steps in a call that succeeds regardless of their results, and returns the guest's report and the
// line of the audit log.
func (w *escapeWorld) run(t *testing.T, e fileEscape) (said, line string) {
	t.Helper()
	steps := make([]do, len(e.steps))
	for i, s := range e.steps {
		steps[i] = maps.Clone(s)
		for _, key := range []string{"path", "to"} {
			if p, ok := s[key].(string); ok {
				steps[i][key] = w.path(p)
			}
		}
	}
	params, err := json.Marshal(map[string]any{"name": "run", "arguments": map[string]any{"steps": steps}})
	if err != nil {
		t.Fatal(err)
	}
	return w.call(t, params, e.grants)
}

// call runs one call under the given lines and those of W and R.
func (w *escapeWorld) call(t *testing.T, params json.RawMessage, grants []string) (said, line string) {
	t.Helper()
	kept := audit.New(w.audit, audit.Options{})
	defer kept.Close()
	h := hostfuncs.NewHost(&hostfuncs.Options{
		Home: w.path("H"), Protected: []string{w.path("H/sallyport")}, State: t.TempDir(), Audit: kept,
	})
	defer h.Close()
	lines := []string{"fs: write " + w.path("W/**"), "fs: read " + w.path("R/**")}
	for _, g := range grants {
		op, path, _ := strings.Cut(strings.TrimPrefix(g, "fs: "), " ")
		lines = append(lines, "fs: "+op+" "+w.path(path))
	}
	g := h.Plugin(hostfuncs.Plugin{Name: "escape", Digest: "sha256:0", Grants: mustSet(t, lines...)}).NewGate(
		hostfuncs.Call{ID: "c1", Principal: "stdio:0", Method: "tools/call", Tool: "run"})
	defer g.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	answer, err := w.pool.Call(ctx, runtime.Request{Method: "tools/call", Params: params}, g)
	if err == nil {
		err = g.Land(ctx)
	}
	g.Close()
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
	blocks, _ := jsonraw.Elements(jsonraw.Get(answer, "content"))
	for _, b := range blocks {
		text, _ := jsonraw.String(jsonraw.Get(b, "text"))
		said += text + "\n"
	}
	if err != nil {
		said += err.Error()
	}
	if err := audit.Read(w.audit, func(l audit.Line) bool {
		if jsonraw.Get(l.Text, "call") != nil {
			line = string(l.Text)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return said, line
}

// escapeGuest builds the guest.
func escapeGuest(t *testing.T) *runtime.Pool {
	t.Helper()
	out := filepath.Join(t.TempDir(), "effects.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "../cmd/sallyport/testdata/effects")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: got %v, want success: %s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return poolOf(t, wasm)
}

// poolOf compiles a guest.
func poolOf(t *testing.T, wasm []byte) *runtime.Pool {
	t.Helper()
	engine, err := runtime.NewEngine(t.Context(), &runtime.EngineOptions{
		Host: slices.Concat(wasi.HostFuncs(), native.HostFuncs()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close(context.WithoutCancel(t.Context())) })
	m, err := engine.Compile(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	clean := hostfuncs.NewHost(nil)
	t.Cleanup(clean.Close)
	nobody := clean.Plugin(hostfuncs.Plugin{Name: "escape", Digest: "sha256:0"})
	pool := runtime.NewPool(m, native.New(), &runtime.PoolOptions{Start: func() (runtime.Gate, func()) {
		g := nobody.NewGate(hostfuncs.Call{ID: "start", Method: "plugin/describe"})
		return g, g.Close
	}})
	t.Cleanup(func() { _ = pool.Close(context.WithoutCancel(t.Context())) })
	return pool
}

// tryFileEscapes runs each attempt: it must fail, be in the audit log, and leave the host's files unchanged.
func tryFileEscapes(t *testing.T, row func(name, outcome, why string)) {
	pool := escapeGuest(t)
	for _, e := range fileEscapes() {
		w := newEscapeWorld(t, pool)
		if e.prepare != nil {
			if err := e.prepare(w); err != nil {
				t.Fatal(err)
			}
		}
		before := w.outside(t)
		said, line := w.alongside(t, e)
		outcome := "refused"
		switch {
		case strings.Contains(said, canary):
			outcome = "leaked"
		case !maps.Equal(before, w.outside(t)):
			outcome = "changed"
		case line == "" || !e.silent && !strings.Contains(line, `"denials":[`):
			outcome = "unrecorded"
		case e.meanwhile == nil && !strings.Contains(said, "error "):
			outcome = "allowed"
		}
		row(e.name, outcome, said+line)
	}
}

// tryFileTwins runs the granted attempts.
func tryFileTwins(t *testing.T, row func(name, outcome, why string)) {
	pool := escapeGuest(t)
	for _, e := range fileTwins() {
		w := newEscapeWorld(t, pool)
		if e.prepare != nil {
			if err := e.prepare(w); err != nil {
				t.Fatal(err)
			}
		}
		said, line := w.run(t, e)
		outcome := "allowed"
		if strings.Contains(said, "error ") || strings.Contains(line, `"denials"`) || line == "" {
			outcome = "refused"
		}
		row(e.name, outcome, said+line)
	}
}

// alongside runs the guest concurrently with meanwhile.
func (w *escapeWorld) alongside(t *testing.T, e fileEscape) (said, line string) {
	t.Helper()
	if e.meanwhile == nil {
		return w.run(t, e)
	}
	var work sync.WaitGroup
	stop := make(chan struct{})
	work.Go(func() { e.meanwhile(w, stop) })
	defer work.Wait()
	defer close(stop)
	return w.run(t, e)
}
