package registry

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

func newEngine(t testing.TB) *runtime.Engine {
	t.Helper()
	engine, err := runtime.NewEngine(t.Context(), &runtime.EngineOptions{
		Host: append(native.HostFuncs(), wasi.HostFuncs()...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Errorf("close of the engine: got %v, want no error", err)
		}
	})
	return engine
}

// options returns the options to load guests from dir.
func options(t testing.TB, dir string) Options {
	t.Helper()
	return Options{
		Dir: dir, Engine: newEngine(t), Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		Dialects: []Dialect{{Recognises: native.Recognises, Dialect: native.New()}},
	}
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func open(t testing.TB, o Options) *Registry {
	t.Helper()
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, r)
	return r
}

// openWithin is open with another deadline for plugins to describe themselves. Many at once on a busy machine may take longer
// than the default, where a test is for another end of theirs.
func openWithin(t testing.TB, o Options, describe time.Duration) *Registry {
	t.Helper()
	r, err := newRegistry(o)
	if err != nil {
		t.Fatal(err)
	}
	r.loader.Describe = describe
	if err := r.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, r)
	return r
}

// closeAtEnd closes a registry at the end of the test.
func closeAtEnd(t testing.TB, r *Registry) {
	t.Helper()
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Errorf("close: got %v, want no error", err)
		}
	})
}

// callText calls a tool and returns the text of its answer.
func callText(t testing.TB, r *Registry, tool string, c catalog.Call) (string, error) {
	t.Helper()
	x, ok := r.Snapshot().Tool(tool)
	if !ok {
		t.Fatalf("got %+v, want the tool %s", r.Plugins(), tool)
	}
	return textOf(x.Call(context.Background(), c))
}

func textOf(raw json.RawMessage, err error) (string, error) {
	if err != nil {
		return "", err
	}
	content, err := jsonraw.Elements(jsonraw.Get(raw, "content"))
	if err != nil || len(content) == 0 {
		return string(raw), nil
	}
	text, _ := jsonraw.String(jsonraw.Get(content[0], "text"))
	return text, nil
}

// eventually polls for an effect of the folder watch, which the kernel and its timers drive without an event for tests.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	const pause = 5 * time.Millisecond
	for range time.Minute / pause {
		if ok() {
			return
		}
		time.Sleep(pause)
	}
	t.Fatalf("%s: got false to the end, want true", what)
}

func status(r *Registry, name string) Status {
	for _, s := range r.Plugins() {
		if s.Name == name {
			return s
		}
	}
	return Status{}
}

// blocking is a client with a Progress that waits until released.
type blocking struct {
	reached chan struct{}
	letGo   chan struct{}
}

func newBlocking() *blocking {
	return &blocking{reached: make(chan struct{}, 64), letGo: make(chan struct{})}
}

var _ hostfuncs.Client = (*blocking)(nil)

func (b *blocking) Progress(context.Context, json.RawMessage) {
	b.reached <- struct{}{}
	<-b.letGo
}

func (b *blocking) Message(context.Context, json.RawMessage) {}

func TestNew_servesTheFolder(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("say"), answer: says("hello")}.write(t, dir, "greeter.wasm")
	r := open(t, options(t, dir))
	got, err := callText(t, r, "greeter-say", catalog.Call{ID: "1"})
	if err != nil || got != "hello" {
		t.Fatalf("got %q %v, want \"hello\"", got, err)
	}
	s := status(r, "greeter")
	if s.State != StateLoaded || s.Tools != 1 || s.Dialect != "native" || !strings.HasPrefix(s.Digest, "sha256:") {
		t.Errorf("got status %+v, want state %v, one tool, native, a digest", s, StateLoaded)
	}
}

func TestNew_asksAModuleWithoutManifest(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir)
	o.State = t.TempDir()
	guest{answer: `{"result":` + tools("a", "b") + `}`}.write(t, dir, "my-tool.wasm")
	r := open(t, o)
	if _, ok := r.Snapshot().Tool("my_tool-b"); !ok {
		t.Fatalf("got %+v, want my_tool-b", r.Plugins())
	}
	again := open(t, o)
	if _, ok := again.Snapshot().Tool("my_tool-b"); !ok {
		t.Fatalf("second registry: got %+v, want my_tool-b", again.Plugins())
	}
}

func TestCall_failureCarriesStderr(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("say"), trap: true, stderr: "it went wrong\n"}.write(t, dir, "bad.wasm")
	r := open(t, options(t, dir))
	_, err := callText(t, r, "bad-say", catalog.Call{ID: "7"})
	var f *catalog.Failure
	var end *runtime.EndError
	if !errors.As(err, &f) || !errors.As(err, &end) || end.Kind != runtime.KindTrap {
		t.Fatalf("got %v, want a Failure, an EndError, end.Kind = runtime.KindTrap", err)
	}
	if f.Plugin != "bad" || f.CallID != "7" || f.Stderr != "it went wrong\n" {
		t.Errorf("got %+v, want f.Plugin = \"bad\", f.CallID = \"7\", f.Stderr = \"it went wrong\n\"", f)
	}
}

// answerOf commits a run and returns its answer.
func answerOf(run catalog.Run, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return run.Answer(), run.Commit(catalog.Verdict{})
}
