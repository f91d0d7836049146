package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/registry"
)

// replica returns one of several servers with the same keys; kept is nil or their common store.
func replica(t *testing.T, keys *sealed.Keys, kept *store.Store) func(id int, state, answer string) string {
	t.Helper()
	p := &player{t: t}
	catalog := newCatalog(t, p.obey)
	roots, err := grant.ParseLine("roots")
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.Configure(map[string]registry.Config{"t": {Grants: grant.NewSet(roots)}}); err != nil {
		t.Fatal(err)
	}
	s := NewServer(catalog, &Options{Keys: keys, Store: kept})
	c := s.Connect(ConnOptions{Principal: "stdio:1"})
	t.Cleanup(c.Close)
	return func(id int, state, answer string) string {
		params := `"name":"t-any","_meta":{` + askableMeta + `,"ask":[[{"Method":"roots/list","Key":"r"}],[{"Method":"roots/list","Key":"r"}]]}`
		if state != "" {
			params += fmt.Sprintf(`,"requestState":%q,"inputResponses":{"r":%s}`, state, answer)
		}
		return string(handle(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`, id, params)).Body)
	}
}

// stateOf returns the requestState of an answer.
func stateOf(t *testing.T, answer string) string {
	t.Helper()
	state, ok := jsonraw.String(jsonraw.Get(json.RawMessage(answer), "result", "requestState"))
	if !ok {
		t.Fatalf("no requestState in %.300s", answer)
	}
	return state
}

// long is an answer too large for any requestState.
var long = `{"roots":[{"uri":"file:///a","name":"` + strings.Repeat("x", continuation.MaxState) + `"}]}`

// Without a store, a call with too much journal data cannot ask, and continues. With one it waits, and the client's
// state stays small.
func TestState_isStoredIfTooLargeForTheClient(t *testing.T) {
	alone := replica(t, sealed.Random(), nil)
	if got := alone(2, stateOf(t, alone(1, "", "")), long); !strings.Contains(got, "limit: the call's journal is too large for a question") {
		t.Errorf("without a store: got %.300s, want a limit", got)
	}
	kept := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { kept.Close() })
	keys := sealed.Random()
	one, other := replica(t, keys, kept), replica(t, keys, kept)
	state := stateOf(t, one(2, stateOf(t, one(1, "", "")), long))
	if len(state) > 4<<10 {
		t.Errorf("got %d bytes at the client, want at most 4096", len(state))
	}
	if got := replica(t, keys, nil)(3, state, `{"roots":[]}`); !strings.Contains(got, continuation.ErrElsewhere.Error()) {
		t.Errorf("without the store: got %.300s, want %v", got, continuation.ErrElsewhere)
	}
	if got := other(3, state, `{"roots":[]}`); !strings.Contains(got, `"resultType":"complete"`) || len(got) < continuation.MaxState {
		t.Errorf("another process: got %.300s, want a result", got)
	}
}

// A state is used only once among several processes.
func TestState_isUsedOnceAmongProcesses(t *testing.T) {
	kept := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { kept.Close() })
	keys := sealed.Random()
	one, other := replica(t, keys, kept), replica(t, keys, kept)
	state := stateOf(t, one(1, "", ""))
	next := stateOf(t, one(2, state, `{"roots":[]}`))
	if got := other(2, state, `{"roots":[]}`); !strings.Contains(got, continuation.ErrUsed.Error()) {
		t.Errorf("used twice: got %.300s, want %v", got, continuation.ErrUsed)
	}
	if got := one(4, state, `{"roots":[]}`); stateOf(t, got) != next {
		t.Errorf("the first process: got %.300s, want its first answer", got)
	}
	if got := other(3, next, `{"roots":[]}`); !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("the other process: got %.300s, want a result", got)
	}
}
