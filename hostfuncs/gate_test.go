package hostfuncs_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// listener records the messages to the caller.
type listener struct {
	mu       sync.Mutex
	progress []string
	messages []string
	denied   []string
}

func (l *listener) Progress(_ context.Context, params json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress = append(l.progress, string(params))
}

func (l *listener) Message(_ context.Context, params json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages = append(l.messages, string(params))
}

func (l *listener) Denied(e *runtime.AskError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.denied = append(l.denied, e.Message)
}

func mustSet(t testing.TB, lines ...string) *grant.Set {
	t.Helper()
	s := grant.NewSet()
	for _, line := range lines {
		g, err := grant.ParseLine(line)
		if err != nil {
			t.Fatalf("%s: got %v, want a grant", line, err)
		}
		s = s.With(g)
	}
	return s
}

// newGate opens a gate for a plugin named "demo" with these grants.
func newGate(t testing.TB, o *hostfuncs.Options, lines ...string) *hostfuncs.Gate {
	t.Helper()
	h := hostfuncs.NewHost(o)
	t.Cleanup(h.Close)
	g := h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1", Grants: mustSet(t, lines...)}).NewGate(hostfuncs.Call{ID: "c1"})
	t.Cleanup(g.Close)
	return g
}

// wantAsk checks the kind and the exact text of a denial.
func wantAsk(t testing.TB, err error, kind runtime.Kind, message, hint string) {
	t.Helper()
	var ask *runtime.AskError
	if !errors.As(err, &ask) {
		t.Fatalf("got %v, want an AskError", err)
	}
	if ask.Kind != kind || ask.Message != message || ask.Hint != hint {
		t.Errorf("got  %s: %s [%s]\nwant %s: %s [%s]", ask.Kind, ask.Message, ask.Hint, kind, message, hint)
	}
}

func TestGate_rejectsUnknownMethods(t *testing.T) {
	g := newGate(t, nil)
	for method, want := range map[string]string{
		"nope":                             `this host has no method "nope"`,
		"":                                 `this host has no method ""`,
		strings.Repeat("é", 100):           `this host has no method "` + strings.Repeat("é", 32) + `…"`,
		"tools/call":                       "tools/call is not available here",
		"notifications/tools/list_changed": "notifications/tools/list_changed is not taken here",
	} {
		_, err := g.Ask(t.Context(), method, nil, nil)
		wantAsk(t, err, runtime.KindUnsupported, want, "")
	}
}

func TestGate_rejectsRequestsAfterCall(t *testing.T) {
	l := &listener{}
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	g := h.Plugin(hostfuncs.Plugin{Name: "demo"}).NewGate(hostfuncs.Call{Client: l})
	g.Close()
	g.Close()
	for _, method := range []string{"notifications/message", "notifications/progress"} {
		_, err := g.Ask(t.Context(), method, json.RawMessage(`{"level":"info","data":1,"progress":1}`), nil)
		wantAsk(t, err, runtime.KindUnavailable, "the call is over", "")
	}
	if len(l.messages)+len(l.progress) != 0 {
		t.Errorf("after the call: got messages %v, progress %v, want none", l.messages, l.progress)
	}
}

func TestGate_rejectsRequestsAfterDeadline(t *testing.T) {
	g := newGate(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	_, err := g.Ask(ctx, "notifications/message", json.RawMessage(`{"level":"info","data":1}`), nil)
	wantAsk(t, err, runtime.KindTimeout, "the call's deadline is exceeded", "")
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = g.Ask(ctx, "notifications/message", json.RawMessage(`{"level":"info","data":1}`), nil)
	wantAsk(t, err, runtime.KindUnavailable, "the call is over", "")
}

func TestGate_rejectsRequestsAfterHostClosed(t *testing.T) {
	h := hostfuncs.NewHost(nil)
	g := h.Plugin(hostfuncs.Plugin{Name: "demo"}).NewGate(hostfuncs.Call{})
	defer g.Close()
	h.Close()
	_, err := g.Ask(t.Context(), "notifications/message", json.RawMessage(`{"level":"info","data":1}`), nil)
	wantAsk(t, err, runtime.KindUnavailable, "the call is over", "")
}

func TestGate_forwardsListChanges(t *testing.T) {
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	var got string
	g := h.Plugin(hostfuncs.Plugin{Name: "demo"}).NewGate(hostfuncs.Call{
		Changed: func(method string, params json.RawMessage) { got = method + " " + string(params) },
	})
	defer g.Close()
	if _, err := g.Ask(t.Context(), "notifications/tools/list_changed", json.RawMessage(`{"visible":["a"]}`), nil); err != nil {
		t.Fatal(err)
	}
	if got != `notifications/tools/list_changed {"visible":["a"]}` {
		t.Errorf("got %s, want a change of the tools with a visible", got)
	}
}

func TestGate_receiptCountsEffects(t *testing.T) {
	g := newGate(t, nil)
	for range 3 {
		_, _ = g.Ask(t.Context(), "notifications/message", json.RawMessage(`{"level":"info","data":1}`), nil)
	}
	_, _ = g.Ask(t.Context(), "notifications/progress", json.RawMessage(`{"progress":1}`), nil)
	raw, err := json.Marshal(g.Receipt())
	want := `{"call":"c1","plugin":"demo","digest":"sha256:1","effects":[{"family":"log","count":3},{"family":"progress","count":1}]}`
	if err != nil || string(raw) != want {
		t.Errorf("got  %s (%v)\nwant %s", raw, err, want)
	}
}

// TestGate_isReadWhileGuestRuns reads a gate from several goroutines while its guest runs and it is closed.
func TestGate_isReadWhileGuestRuns(t *testing.T) {
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	p := h.Plugin(hostfuncs.Plugin{Name: "demo"})
	var wg sync.WaitGroup
	for range 8 {
		g := p.NewGate(hostfuncs.Call{Client: &listener{}})
		wg.Go(func() {
			for i := range 50 {
				_, _ = g.Ask(t.Context(), "notifications/progress", json.RawMessage(`{"progress":`+string(rune('0'+i%10))+`}`), nil)
				_, _ = g.Ask(t.Context(), "nope", nil, nil)
			}
			g.WASI()
		})
		wg.Go(func() {
			for range 50 {
				g.Receipt()
				g.Denials()
				g.Stderr()
			}
			g.Close()
		})
	}
	wg.Go(p.Close)
	wg.Wait()
}
