package registry

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// class returns limits of the callers with a name.
func class(t *testing.T, name string, l runtime.Limits, use hostfuncs.Limits) Class {
	t.Helper()
	who, err := identity.ParseWho([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return Class{Who: who, Limits: l, Use: use}
}

// A call by another plugin has the limits of the caller of the first call, of a plugin with limits for some callers.
func TestClasses_nestedCallsHaveThoseOfTheFirstCaller(t *testing.T) {
	dir := t.TempDir()
	log := audit.New(filepath.Join(dir, "audit"), audit.Options{})
	defer log.Close()
	host := hostfuncs.NewHost(&hostfuncs.Options{Audit: log})
	defer host.Close()
	guest{manifest: tools("say"), answer: says("hello")}.write(t, dir, "inner.wasm")
	guest{manifest: tools("go"), ask: `{"method":"tools/call","params":{"name":"inner-say"}}`, answer: says("done")}.write(t, dir, "outer.wasm")
	o := options(t, dir)
	o.Host, o.Plugins = host, map[string]Config{
		"outer": {Grants: grantsOf(t, "tools: inner-say")},
		"inner": {Classes: []Class{class(t, "group:interns", runtime.Limits{Memory: 32 << 10}, hostfuncs.Limits{})}},
	}
	r := open(t, o)
	if w := status(r, "inner").Warnings; len(w) != 1 || w[0] != "entry 1 of limits.for refuses each call of its callers: the module starts with 64 KiB of memory, and limits.for.memory is 32 KiB" {
		t.Errorf("got warnings %q, want one about the memory", w)
	}
	tool, ok := r.Snapshot().Tool("outer-go")
	if !ok {
		t.Fatal("no tool outer-go")
	}
	for _, c := range []struct{ group, outcome string }{{"interns", "limit"}, {"ops", "ok"}} {
		client := &receipts{Client: silent{}}
		run, err := tool.Run(t.Context(), catalog.Call{Principal: "oauth:x", Roles: identity.Roles{Groups: []string{c.group}}, Client: client})
		if err == nil {
			err = run.Commit(catalog.Verdict{})
		}
		if err != nil || len(client.all) != 1 || len(client.all[0].Calls) != 1 || client.all[0].Calls[0].Outcome != c.outcome {
			t.Errorf("%s: got %v and receipts %+v, want a nested call with the outcome %s", c.group, err, client.all, c.outcome)
		}
	}
}

// The largest answer and the admission are those of the caller's class, and errors name their keys.
func TestClasses_limitAnswersAndAdmission(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("say"), answer: says("hello")}.write(t, dir, "p.wasm")
	o := options(t, dir)
	o.Plugins = map[string]Config{"p": {Limits: runtime.Limits{Output: 1000}, Classes: []Class{
		class(t, "token:ann", runtime.Limits{Output: 20 << 20}, hostfuncs.Limits{}),
		class(t, "token:eve", runtime.Limits{Deadline: time.Minute}, hostfuncs.Limits{PrincipalCalls: 1}),
	}}}
	r := open(t, o)
	tool, ok := r.Snapshot().Tool("p-say")
	if !ok {
		t.Fatal("no tool p-say")
	}
	for principal, want := range map[string]struct {
		bytes   int
		setting string
	}{"token:ann": {20 << 20, "limits.for.output"}, "token:eve": {1000, "limits.output"}, "token:bob": {1000, "limits.output"}} {
		if bytes, setting := tool.Limit(identity.Identity{Principal: principal}); bytes != want.bytes || setting != want.setting {
			t.Errorf("%s: got %d, %s, want %+v", principal, bytes, setting, want)
		}
	}
	for principal, want := range map[string]string{"token:eve": "(limits.for.principal_calls)", "token:bob": ""} {
		first, err := tool.Run(t.Context(), catalog.Call{Principal: principal})
		if err != nil {
			t.Fatal(err)
		}
		second, err := tool.Run(t.Context(), catalog.Call{Principal: principal})
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q in an error", principal, err, want)
		case err == nil:
			err = second.Abort(nil)
		default:
			err = nil
		}
		if err := errors.Join(err, first.Abort(nil)); err != nil {
			t.Error(err)
		}
	}
}

// A changed class applies to the next call, and an equal one leaves the instances that a plugin keeps.
func TestClasses_changesAreNoticed(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("say"), answer: says("hello")}.write(t, dir, "p.wasm")
	r := open(t, options(t, dir))
	server := func(classes ...Class) *generation {
		t.Helper()
		if err := r.Configure(map[string]Config{"p": {Classes: classes}}); err != nil {
			t.Fatal(err)
		}
		return serving(r, "p")
	}
	slow := class(t, "token:ann", runtime.Limits{Deadline: time.Minute}, hostfuncs.Limits{})
	first := server(slow)
	if again := server(class(t, "token:ann", runtime.Limits{Deadline: time.Minute}, hostfuncs.Limits{})); again != first {
		t.Error("equal limits made a new generation, want the same")
	}
	for _, next := range []Class{
		class(t, "token:bob", slow.Limits, slow.Use), class(t, "token:ann", runtime.Limits{Deadline: time.Hour}, slow.Use),
		class(t, "token:ann", slow.Limits, hostfuncs.Limits{Sent: 1}),
	} {
		if server(next) == first {
			t.Errorf("%+v serves with the former limits, want them changed", next)
		}
	}
}

// An Extism manifest lowers the limits of all classes too.
func TestClasses_areLoweredByAnExtismFile(t *testing.T) {
	raw := `{"wasm":[{"path":"p.wasm"}],"memory":{"max_pages":2},"timeout_ms":500}`
	low, _, err := extismfile.Read(writeFile(t, t.TempDir(), "low.json", []byte(raw)))
	if err != nil {
		t.Fatal(err)
	}
	own := Config{Classes: []Class{
		class(t, "token:ann", runtime.Limits{Memory: 1 << 30, Deadline: time.Hour}, hostfuncs.Limits{}),
		class(t, "token:eve", runtime.Limits{Task: time.Second}, hostfuncs.Limits{}),
	}}
	got := own.narrowed(low.Manifest, runtime.Limits{}).Classes
	if got[0].Limits != (runtime.Limits{Memory: 2 << 16, Deadline: 500 * time.Millisecond}) || got[1].Limits != own.Classes[1].Limits {
		t.Errorf("got %+v, want 2 pages and 500ms for ann, and the limits of eve", got)
	}
	if own.Classes[0].Limits.Memory != 1<<30 {
		t.Error("the operator's own configuration was changed")
	}
}
