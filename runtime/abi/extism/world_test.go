package extism

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// world is a gate for tests: it has configuration and files, returns prepared answers, and records the requests.
type world struct {
	config  map[string]string
	secrets map[string]string // by name or source
	state   *wasi.State
	answers map[string]string // by method; a method without one is unsupported
	web     http.RoundTripper // nil: every fetch is denied
	asked   []string
}

var (
	_ runtime.Gate = (*world)(nil)
	_ Configured   = (*world)(nil)
	_ Secretive    = (*world)(nil)
	_ wasi.Host    = (*world)(nil)
)

func newWorld(t testing.TB, files string) *world {
	w := &world{config: map[string]string{}, answers: map[string]string{}}
	o := wasi.Options{Args: []string{"plugin"}}
	if files != "" {
		tr := jail.New([]jail.Mount{{Host: files, Guest: "/mnt"}}, anything{})
		t.Cleanup(tr.Close)
		o.Tree = tr
	}
	w.state = wasi.NewState(o)
	t.Cleanup(w.state.Close)
	return w
}

// anything allows every file below its mount.
type anything struct{}

func (anything) Allow(jail.Op, string) error { return nil }

func (w *world) WASI() *wasi.State { return w.state }

func (w *world) Config(name string) (string, bool) {
	v, ok := w.config[name]
	return v, ok
}

func (w *world) Secret(_ context.Context, nameOrSource string) (string, bool, error) {
	v, ok := w.secrets[nameOrSource]
	if v == "unset" {
		return "", false, &runtime.AskError{Kind: runtime.KindUnavailable, Message: "it is not set"}
	}
	return v, ok, nil
}

func (w *world) Ask(ctx context.Context, method string, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	w.asked = append(w.asked, strings.TrimSpace(method+" "+string(params)))
	if params != nil {
		if err := jsonraw.Valid(params); err != nil {
			return nil, fmt.Errorf("params of %s: %w", method, err)
		}
	}
	if method == "http/fetch" && w.web != nil {
		return w.fetch(ctx, params, s)
	}
	if answer, ok := w.answers[method]; ok {
		return json.RawMessage(answer), nil
	}
	return nil, &runtime.AskError{Kind: runtime.KindUnsupported, Message: method + " is not there"}
}

func (w *world) fetch(ctx context.Context, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	var p struct {
		Method, URL string
		Headers     map[string]string
		Body        map[string]uint32
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	var body io.Reader
	if id, ok := p.Body[streamMember]; ok {
		r, _, err := s.Take(id)
		if err != nil {
			return nil, err
		}
		body = r
	}
	req, err := http.NewRequestWithContext(ctx, p.Method, p.URL, body)
	if err != nil {
		return nil, &runtime.AskError{Kind: runtime.KindInvalid, Message: err.Error()}
	}
	for k, v := range p.Headers {
		req.Header.Set(k, v)
	}
	res, err := w.web.RoundTrip(req)
	if err != nil {
		return nil, &runtime.AskError{Kind: runtime.KindUnavailable, Message: err.Error()}
	}
	id, err := s.Open(res.Body)
	if err != nil {
		return nil, err
	}
	headers := map[string]any{}
	for k, v := range res.Header {
		if headers[strings.ToLower(k)] = any(v); len(v) == 1 {
			headers[strings.ToLower(k)] = v[0]
		}
	}
	raw, err := json.Marshal(map[string]any{"status": res.StatusCode, "url": p.URL, "headers": headers, "body": map[string]any{streamMember: id}})
	return raw, err
}

// pool compiles a module for calls through a dialect; more are additional host functions.
func pool(t testing.TB, wasm []byte, d runtime.Dialect, l runtime.Limits, more ...runtime.HostFunc) (*runtime.Pool, error) {
	t.Helper()
	return cachedPool(t, compiled, wasm, d, l, more...)
}

func cachedPool(t testing.TB, cache string, wasm []byte, d runtime.Dialect, l runtime.Limits, more ...runtime.HostFunc) (*runtime.Pool, error) {
	t.Helper()
	m, err := module(t, cache, wasm, more...)
	if err != nil {
		return nil, err
	}
	o := runtime.PoolOptions{Limits: l, Start: func() (runtime.Gate, func()) { return newWorld(t, ""), func() {} }}
	if _, ok := d.(*script); ok {
		o.State = runtime.StateFresh // it serves one call
	}
	return runtime.NewPool(m, d, &o), nil
}

// module compiles a guest.
func module(t testing.TB, cache string, wasm []byte, more ...runtime.HostFunc) (*runtime.Module, error) {
	t.Helper()
	e, err := runtime.NewEngine(context.Background(), &runtime.EngineOptions{CacheDir: cache, Host: append(append(HostFuncs(), wasi.HostFuncs()...), more...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e.Compile(context.Background(), wasm)
}

// script is a dialect that calls exports one after the other in one instance, as the SDK calls a kept plugin, and
// records each outcome.
type script struct {
	steps []step
	got   []outcome
}

type step struct{ export, input string }

// outcome is the result of one call of an export.
type outcome struct {
	failed bool
	code   uint32
	output string
	text   string // of the failure
}

func (s *script) Name() string { return "script" }

// Start runs the start of the Extism dialect, unless the first step is the guest's own start.
func (s *script) Start(ctx context.Context, in *runtime.Instance) error {
	if len(s.steps) > 0 && s.steps[0].export == "_start" {
		return nil
	}
	return new(dialect).Start(ctx, in)
}

func (s *script) Serve(ctx context.Context, in *runtime.Instance, _ runtime.Request) (json.RawMessage, error) {
	x := newSession(in)
	for _, step := range s.steps {
		out, err := x.invoke(ctx, step.export, []byte(step.input))
		s.got = append(s.got, outcomeOf(out, err))
	}
	return nil, nil
}

func outcomeOf(out []byte, err error) outcome {
	o := outcome{failed: err != nil, output: string(out)}
	if err != nil {
		o.text = err.Error()
	}
	if end, ok := err.(*runtime.EndError); ok {
		o.code, o.text = end.Code, end.Message
	}
	return o
}

func logText(t testing.TB, params string) string {
	t.Helper()
	var p struct{ Data string }
	if err := json.Unmarshal([]byte(params), &p); err != nil {
		t.Fatal(err)
	}
	return p.Data
}
