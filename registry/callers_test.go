package registry

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// A plugin gets no further than its caller: it calls no tool for which the caller lacks a scope.
func TestCallTool_needsTheScopesOfItsCaller(t *testing.T) {
	r := open(t, Options{})
	addGo(t, r, "p", everything)
	who, err := identity.ParseWho([]string{"all"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Configure(map[string]Config{"p": {Callers: []catalog.CallerRule{{Who: who, Scopes: []string{"write"}}}}}); err != nil {
		t.Fatal(err)
	}
	call := func(scopes ...string) error {
		_, err := toolCaller{r.public}.CallTool(t.Context(), hostfuncs.Nested{Tool: "p-do_it", Arguments: json.RawMessage(`{}`), Principal: "oauth:x|ann", Roles: identity.Roles{Scopes: scopes}})
		return err
	}
	if err := call("write"); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	var lacks *catalog.ScopeError
	if err := call("read"); !errors.As(err, &lacks) {
		t.Errorf("got %v, want the lack of a scope", err)
	}
}

// A plugin calls for its caller: it reaches no tool that the caller may not call, and learns nothing of it.
func TestCallTool_hiddenToolIsAsAnUnknownOne(t *testing.T) {
	r := open(t, Options{})
	addGo(t, r, "p", everything)
	who, err := identity.ParseWho([]string{"group:ops"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Configure(map[string]Config{"p": {Callers: []catalog.CallerRule{{Who: who}}}}); err != nil {
		t.Fatal(err)
	}
	call := func(tool string, roles identity.Roles) error {
		_, err := toolCaller{r.public}.CallTool(t.Context(), hostfuncs.Nested{Tool: tool, Arguments: json.RawMessage(`{}`), Principal: "token:ann", Roles: roles})
		return err
	}
	if err := call("p-do_it", identity.Roles{Groups: []string{"ops"}}); err != nil {
		t.Errorf("ops: got %v, want no error", err)
	}
	var refused *runtime.AskError
	if err := call("p-do_it", identity.Roles{Groups: []string{"dev"}}); !errors.As(err, &refused) || refused.Message != `there is no tool "p-do_it"` {
		t.Errorf("dev: got %v, want no such tool", err)
	}
	stale, _ := r.Snapshot().Tool("p-do_it")
	if _, err := stale.Call(t.Context(), catalog.Call{Principal: "token:ann"}); !errors.Is(err, catalog.ErrGone) {
		t.Errorf("call of a tool that was found before: got %v, want %v", err, catalog.ErrGone)
	}
}
