package hostfuncs_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// within calls a second plugin, which makes one request and succeeds.
type within struct {
	policy         *hostfuncs.Policy
	method, params string
}

func (w *within) CallTool(ctx context.Context, n hostfuncs.Nested) (json.RawMessage, error) {
	g := w.policy.NewGate(hostfuncs.Call{ID: "inner", Principal: n.Principal, Client: n.Client, Chain: n.Chain})
	defer g.Close()
	if _, err := g.Ask(ctx, w.method, json.RawMessage(w.params), nil); err != nil {
		return nil, err
	}
	return json.RawMessage(`{"content":[]}`), g.Land(ctx)
}

func (*within) Publisher(hostfuncs.Nested) string { return "inner" }

func (w *within) ReadResource(ctx context.Context, n hostfuncs.Nested) (json.RawMessage, error) {
	return w.CallTool(ctx, n)
}

// calling makes calls of a plugin that may call a second one.
func calling(t *testing.T, method string) func(*journal.Journal) *hostfuncs.Gate {
	kept := store.New(store.Options{Dir: t.TempDir()})
	h := hostfuncs.NewHost(&hostfuncs.Options{Store: kept, State: t.TempDir()})
	t.Cleanup(func() { h.Close(); kept.Close() })
	h.SetCaller(&within{h.Plugin(hostfuncs.Plugin{Name: "inner", Grants: mustSet(t, "kv: 1KiB")}), method, `{"key":"k","value":1}`})
	outer := h.Plugin(hostfuncs.Plugin{Name: "outer", Digest: "sha256:1", Grants: mustSet(t, "elicitation", "tools: inner-run {any: true}")})
	return func(j *journal.Journal) *hostfuncs.Gate {
		if err := outer.Bind(j); err != nil {
			t.Fatal(err)
		}
		g := outer.NewGate(hostfuncs.Call{ID: "outer", Principal: "stdio:1", Client: &person{suspend: true}, Journal: j})
		t.Cleanup(g.Close)
		return g
	}
}

// TestReplay_noQuestionsAfterCalleeWrote checks that a call cannot ask after a nested call wrote: nested calls do not
// run again in a replay, so their writes would be lost but reported as done.
func TestReplay_noQuestionsAfterCalleeWrote(t *testing.T) {
	for method, want := range map[string]string{
		"kv/set": "limit: the call can ask nothing any more: a tool that it called has written something, which lasts when this call has succeeded",
		"kv/get": "waits",
	} {
		g := calling(t, method)(journal.New())
		if got := ask(t, g, "tools/call", `{"name":"inner-run"}`); !strings.Contains(got, "content") {
			t.Fatalf("got %s, want the content of the callee", got)
		}
		_, err := g.Ask(t.Context(), "elicitation/create", json.RawMessage(elicits), nil)
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, hostfuncs.ErrSuspended) != (want == "waits") {
			t.Errorf("%s: got %v, want an error with %s", method, err, want)
		}
	}
}

// TestReplay_endsAfterCalleeWroteAndProcessDied checks the same for a replay after its process was killed.
func TestReplay_endsAfterCalleeWroteAndProcessDied(t *testing.T) {
	for method, want := range map[string]string{"kv/set": "lost", "kv/get": `{"content":[]}`} {
		outer := calling(t, method)
		j := journal.New()
		var parts [][]byte
		j.Keep(func(part []byte) error {
			parts = append(parts, slices.Clone(part))
			return nil
		})
		if got := ask(t, outer(j), "tools/call", `{"name":"inner-run"}`); got != `{"content":[]}` {
			t.Fatalf("got %s, want empty content", got)
		}
		if err := j.Begin("end", "end"); err != nil { // writes the earlier entries to disk
			t.Fatal(err)
		}
		again := journal.New()
		if err := again.Continue(parts); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, outer(again), "tools/call", `{"name":"inner-run"}`); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s in it", method, got, want)
		}
	}
}
