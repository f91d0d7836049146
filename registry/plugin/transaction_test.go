package plugin

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// The caller is told that such a call failed.
func TestCommit_writesNothingForAnAnswerOverTheLimit(t *testing.T) {
	kept := store.New(store.Options{Dir: t.TempDir()})
	defer kept.Close()
	host := hostfuncs.NewHost(&hostfuncs.Options{Store: kept, State: t.TempDir()})
	defer host.Close()
	kv, err := grant.ParseLine("kv: 1KiB")
	if err != nil {
		t.Fatal(err)
	}
	policy := host.Plugin(hostfuncs.Plugin{Name: "p", Grants: grant.NewSet(kv)})
	ask := func(gate *hostfuncs.Gate, method, params string) string {
		t.Helper()
		answer, err := gate.Ask(t.Context(), method, json.RawMessage(params), nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	for i, want := range []string{`{"value":null,"version":0}`, `{"value":1,"version":1}`} {
		limit := i + 1
		gate := policy.NewGate(hostfuncs.Call{ID: "c", Principal: "ada"})
		ask(gate, "kv/set", `{"key":"k","value":1}`)
		run := &transaction{plugin: "p", id: "c", gate: moduleGate{gate}, answered: true, answer: json.RawMessage("{}"), limit: output{bytes: limit}, ctx: t.Context()}
		err := run.Commit(catalog.Verdict{})
		var end *runtime.EndError
		if over := errors.As(err, &end) && end.Kind == runtime.KindLimit; over != (limit == 1) {
			t.Errorf("limit %d: got %v, want the error of the limit: %v", limit, err, limit == 1)
		}
		after := policy.NewGate(hostfuncs.Call{ID: "d", Principal: "ada"})
		if got := ask(after, "kv/get", `{"key":"k"}`); got != want {
			t.Errorf("limit %d: got %s, want %s", limit, got, want)
		}
		after.Close()
	}
}
