package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const twoTools = `{"tools":[{"name":"x","inputSchema":{"type":"object"}},{"name":"y","inputSchema":{"type":"object"}}]}`

// homePlugin returns a plugin that does not serve yet, and the count of its Relist calls.
func homePlugin() (p *Plugin, relisted *int) {
	relisted = new(int)
	p = &Plugin{Name: "p", Relist: func() { *relisted++ }, Ready: func(context.Context) error { return nil }, Updated: func(string) {}}
	return p, relisted
}

// newTestGeneration returns a generation of a plugin, served by code.
func newTestGeneration(t testing.TB, p *Plugin, code Func) *Generation {
	t.Helper()
	m, err := manifest.Parse([]byte(twoTools))
	if err != nil {
		t.Fatal(err)
	}
	host := hostfuncs.NewHost(nil)
	t.Cleanup(host.Close)
	return New(p, Options{
		Publish: catalog.Plugin{Name: p.Name, Manifest: m}, Code: code, Policy: host.Plugin(hostfuncs.Plugin{Name: p.Name}),
	})
}

// tool returns a tool published by a generation.
func tool(t testing.TB, g *Generation, name string) *catalog.Tool {
	t.Helper()
	found, ok := catalog.Join([]*catalog.Offer{g.Offer()}, nil).Tool(name)
	if !ok {
		t.Fatalf("there is no tool %s", name)
	}
	return found
}

// says answers with a text.
func says(text string) Func {
	return func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(text), nil
	}
}

// A running call ends on the generation it began with; a later one, by an entry of the old generation, is served by the
// new one, and fails once the plugin is removed.
func TestGeneration_callsGoToItsReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := homePlugin()
		begun, letGo := make(chan struct{}), make(chan struct{})
		old := newTestGeneration(t, p, func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			close(begun)
			<-letGo
			return json.RawMessage(`"old"`), nil
		})
		p.Replace(old)
		x := tool(t, old, "x")
		first := make(chan string)
		go func() {
			answer, err := x.Call(context.Background(), catalog.Call{})
			if err != nil {
				answer = []byte(err.Error())
			}
			first <- string(answer)
		}()
		<-begun
		p.Replace(newTestGeneration(t, p, says(`"new"`)))
		old.Retire()
		if answer, err := x.Call(t.Context(), catalog.Call{}); err != nil || string(answer) != `"new"` {
			t.Errorf("after its replacement: got %s, %v, want \"new\"", answer, err)
		}
		drained := make(chan error, 1)
		go func() { drained <- old.Drain(context.Background()) }()
		synctest.Wait()
		if len(drained) > 0 {
			t.Error("it is drained while a call runs")
		}
		close(letGo)
		if got := <-first; got != `"old"` {
			t.Errorf("the call that ran: got %s, want %s", got, `"old"`)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		p.Current().Retire()
		p.Replace(nil)
		if _, err := x.Call(t.Context(), catalog.Call{}); !errors.Is(err, catalog.ErrGone) {
			t.Errorf("after its removal: got %v, want %v", err, catalog.ErrGone)
		}
	})
}

// Drain does not outlast its context.
func TestDrain_endsWithItsContext(t *testing.T) {
	p, _ := homePlugin()
	begun, letGo := make(chan struct{}), make(chan struct{})
	g := newTestGeneration(t, p, func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		close(begun)
		<-letGo
		return json.RawMessage("{}"), nil
	})
	p.Replace(g)
	ended := make(chan error)
	go func() {
		_, err := tool(t, g, "x").Call(context.Background(), catalog.Call{})
		ended <- err
	}()
	<-begun
	g.Retire()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Drain(ctx); err != nil {
		t.Error(err)
	}
	close(letGo)
	<-ended
}

func TestCode_convertsErrors(t *testing.T) {
	p, _ := homePlugin()
	var give error
	g := newTestGeneration(t, p, func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, give })
	p.Replace(g)
	x := tool(t, g, "x")
	for _, c := range []struct {
		err  error
		kind runtime.Kind
	}{
		{errors.New("x"), runtime.KindInternal}, {context.Canceled, runtime.KindCancelled},
		{context.DeadlineExceeded, runtime.KindDeadline}, {&runtime.EndError{Kind: runtime.KindLimit}, runtime.KindLimit},
	} {
		give = c.err
		_, err := x.Call(t.Context(), catalog.Call{ID: "7"})
		var end *runtime.EndError
		var failure *catalog.Failure
		if !errors.As(err, &end) || end.Kind != c.kind || !errors.As(err, &failure) || failure.Plugin != "p" || failure.CallID != "7" {
			t.Errorf("%v: got %v, want kind %s and a failure of p", c.err, err, c.kind)
		}
	}
	give = &runtime.GuestError{Code: -32601}
	var guest *runtime.GuestError
	if _, err := x.Call(t.Context(), catalog.Call{}); !errors.As(err, &guest) {
		t.Errorf("got %v, want a GuestError", err)
	}
	if _, err := x.Call(t.Context(), catalog.Call{Params: json.RawMessage("[]")}); !errors.As(err, &guest) || guest.Code != -32602 {
		t.Errorf("got %v, want a GuestError, guest.Code = -32602", err)
	}
}

// The caller sees the answer before the commit, and its reason to abort is the failure of the call.
func TestGeneration_abortIsAFailureOfThePlugin(t *testing.T) {
	p, _ := homePlugin()
	g := newTestGeneration(t, p, says(`{"content":[]}`))
	p.Replace(g)
	run, err := tool(t, g, "x").Run(t.Context(), catalog.Call{ID: "7"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(run.Answer()); got != `{"content":[]}` {
		t.Errorf("got answer %s", got)
	}
	wrong := errors.New("wrong")
	var failure *catalog.Failure
	if err := run.Abort(wrong); !errors.Is(err, wrong) || !errors.As(err, &failure) || failure.Plugin != "p" || failure.CallID != "7" {
		t.Errorf("got %v, want a failure of p that wraps %v", err, wrong)
	}
}

// A generation is drained only after its last run was committed or aborted, even without an answer.
func TestGeneration_drainWaitsForTheEndOfRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := homePlugin()
		g := newTestGeneration(t, p, says("null"))
		p.Replace(g)
		run, err := tool(t, g, "x").Run(t.Context(), catalog.Call{})
		if err != nil {
			t.Fatal(err)
		}
		g.Retire()
		drained := make(chan error, 1)
		go func() { drained <- g.Drain(context.Background()) }()
		synctest.Wait()
		if len(drained) > 0 {
			t.Error("drained before the commit")
		}
		if err := run.Commit(catalog.Verdict{}); err != nil {
			t.Error(err)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// One call may change its plugin's lists only maxChanges times: each change rebuilds the catalog.
func TestGeneration_limitsListChanges(t *testing.T) {
	p, relisted := homePlugin()
	g := newTestGeneration(t, p, func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		for i := range 1000 {
			show := json.RawMessage(`{"visible":["x"]}`)
			if i%2 == 1 {
				show = json.RawMessage(`{"visible":["y"]}`)
			}
			if _, err := runtime.GateFrom(ctx).Ask(ctx, "notifications/tools/list_changed", show, nil); err != nil {
				return nil, err
			}
		}
		return json.RawMessage("{}"), nil
	})
	p.Replace(g)
	if _, err := tool(t, g, "x").Call(t.Context(), catalog.Call{}); err != nil {
		t.Fatal(err)
	}
	if *relisted != maxChanges {
		t.Errorf("got %d new catalogs by one call, want %d", *relisted, maxChanges)
	}
	before := g.Offer()
	if g.Publish(); g.Offer() == before {
		t.Error("what the plugin chose is not published")
	}
	before = g.Offer()
	if g.Publish(); g.Offer() != before {
		t.Error("it is published anew though nothing changed")
	}
}
