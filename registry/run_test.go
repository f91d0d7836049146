package registry

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// endings are the ways in which a caller ends a run, with the outcome in the receipt.
var endings = []struct {
	name, outcome string
	end           func(cancel func(), run catalog.Run) error
	fails         bool
}{
	{"commit", "ok", func(_ func(), run catalog.Run) error { return run.Commit(catalog.Verdict{}) }, false},
	{"commit of a failed tool", "failed", func(_ func(), run catalog.Run) error { return run.Commit(catalog.Verdict{Failed: true}) }, false},
	{"commit after cancellation", "cancelled", func(cancel func(), run catalog.Run) error {
		cancel()
		return run.Commit(catalog.Verdict{})
	}, true},
	{"abort with a reason", "guest", func(_ func(), run catalog.Run) error { return run.Abort(errors.New("wrong")) }, true},
	{"abort without a reason", "", func(_ func(), run catalog.Run) error { return run.Abort(nil) }, false},
	{"commit and deferred abort", "ok", func(_ func(), run catalog.Run) error {
		defer run.Abort(errors.New("wrong"))
		return run.Commit(catalog.Verdict{})
	}, false},
	{"abort and commit", "", func(_ func(), run catalog.Run) error {
		_ = run.Abort(nil)
		return run.Commit(catalog.Verdict{})
	}, true},
	{"panic between run and commit", "", func(_ func(), run catalog.Run) (err error) {
		defer func() { err, _ = recover().(error) }()
		defer run.Abort(nil)
		panic(errors.New("bug"))
	}, true},
}

// At each end of a run its gate closes once with its outcome, its admission and its instance are free for the next call,
// and its plugin can be drained.
func TestRun_endsOnce(t *testing.T) {
	dir := t.TempDir()
	log := audit.New(filepath.Join(dir, "audit"), audit.Options{})
	defer log.Close()
	host := hostfuncs.NewHost(&hostfuncs.Options{Audit: log})
	defer host.Close()
	guest{manifest: tools("say"), answer: says("hello")}.write(t, dir, "p.wasm")
	o := options(t, dir)
	one := Config{Use: hostfuncs.Limits{PrincipalCalls: 1}, Limits: runtime.Limits{Concurrency: 1, Queue: -1}}
	o.Host, o.Plugins = host, map[string]Config{"p": one, "code": {}}
	r := open(t, o)
	if err := r.AddGo("code", []byte(tools("say")), func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		_, err := runtime.GateFrom(ctx).Ask(ctx, "notifications/message", json.RawMessage(`{"level":"info","data":"x"}`), nil)
		return json.RawMessage(`{"content":[]}`), err
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"p-say", "code-say"} {
		tool, ok := r.Snapshot().Tool(name)
		if !ok {
			t.Fatalf("no tool %s", name)
		}
		for _, e := range endings {
			ctx, cancel := context.WithCancel(t.Context())
			client := &receipts{Client: silent{}}
			run, err := tool.Run(ctx, catalog.Call{Principal: "ada", Client: client})
			if err != nil {
				t.Fatalf("%s, %s: got %v, want no error", name, e.name, err)
			}
			if len(client.all) > 0 {
				t.Errorf("%s, %s: got a receipt before the end", name, e.name)
			}
			if err := e.end(cancel, run); (err != nil) != e.fails {
				t.Errorf("%s, %s: got error %v, want one: %v", name, e.name, err, e.fails)
			}
			if len(client.all) != 1 || client.all[0].Outcome != e.outcome {
				t.Errorf("%s, %s: got receipts %+v, want one with outcome %q", name, e.name, client.all, e.outcome)
			}
			cancel()
		}
	}
}

// A plugin that fails or panics leaves nothing behind.
func TestRun_endsWithoutAnAnswer(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("say"), trap: true}.write(t, dir, "p.wasm")
	o := options(t, dir)
	o.Plugins = map[string]Config{"p": {Use: hostfuncs.Limits{PrincipalCalls: 1}, Limits: runtime.Limits{Concurrency: 1, Queue: -1}}}
	r := open(t, o)
	if err := r.AddGo("code", []byte(tools("say")), func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		panic("bug")
	}); err != nil {
		t.Fatal(err)
	}
	guestTool, _ := r.Snapshot().Tool("p-say")
	codeTool, _ := r.Snapshot().Tool("code-say")
	for range 3 {
		var end *runtime.EndError
		if _, err := guestTool.Run(t.Context(), catalog.Call{Principal: "ada"}); !errors.As(err, &end) || end.Kind != runtime.KindTrap {
			t.Errorf("got %v, want a trap", err)
		}
		func() {
			defer func() {
				if p := recover(); p != "bug" {
					t.Errorf("got panic %v, want the plugin's own", p)
				}
			}()
			_, _ = codeTool.Run(t.Context(), catalog.Call{})
		}()
	}
}

// silent is a client that drops all messages.
type silent struct{}

func (silent) Progress(context.Context, json.RawMessage) {}
func (silent) Message(context.Context, json.RawMessage)  {}

// A nested call ends with its own answer, also if its caller is aborted: the callee, which serves one call at a time, is
// free for the next one, and the caller's receipt has the callee's.
func TestRun_endsNestedCalls(t *testing.T) {
	for name, callee := range map[string]guest{
		"success": {manifest: tools("say"), answer: says("hello")},
		"failure": {manifest: tools("say"), answer: `{"result":{"content":[],"isError":true}}`},
		"trap":    {manifest: tools("say"), trap: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			log := audit.New(filepath.Join(dir, "audit"), audit.Options{})
			defer log.Close()
			host := hostfuncs.NewHost(&hostfuncs.Options{Audit: log})
			defer host.Close()
			callee.write(t, dir, "inner.wasm")
			guest{manifest: tools("go"), ask: `{"method":"tools/call","params":{"name":"inner-say"}}`, answer: says("done")}.write(t, dir, "outer.wasm")
			o := options(t, dir)
			o.Host, o.Plugins = host, map[string]Config{
				"outer": {Grants: grantsOf(t, "tools: inner-say")},
				"inner": {Use: hostfuncs.Limits{PrincipalCalls: 1}, Limits: runtime.Limits{Concurrency: 1, Queue: -1}},
			}
			r := open(t, o)
			tool, ok := r.Snapshot().Tool("outer-go")
			if !ok {
				t.Fatal("no tool outer-go")
			}
			for range 3 {
				client := &receipts{Client: silent{}}
				run, err := tool.Run(t.Context(), catalog.Call{Principal: "ada", Client: client})
				if err != nil {
					t.Fatal(err)
				}
				if err := run.Abort(nil); err != nil {
					t.Error(err)
				}
				if len(client.all) != 1 || len(client.all[0].Calls) != 1 || client.all[0].Calls[0].Outcome == string(runtime.KindLimit) {
					t.Errorf("got receipts %+v, want one with a nested call that was admitted", client.all)
				}
			}
		})
	}
}
