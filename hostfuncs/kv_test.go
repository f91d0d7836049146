package hostfuncs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// keeper is a plugin with a store.
type keeper struct {
	t      *testing.T
	policy *hostfuncs.Policy
}

func newKeeper(t *testing.T, lines ...string) *keeper {
	t.Helper()
	return newKeeperAt(t, nil, lines...)
}

// newKeeperAt is newKeeper with a clock.
func newKeeperAt(t *testing.T, now func() time.Time, lines ...string) *keeper {
	t.Helper()
	kept := store.New(store.Options{Dir: t.TempDir(), Now: now})
	h := hostfuncs.NewHost(&hostfuncs.Options{Store: kept, State: t.TempDir()})
	t.Cleanup(func() { h.Close(); kept.Close() })
	return &keeper{t, h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, lines...)})}
}

func (k *keeper) call(principal string) *hostfuncs.Gate {
	g := k.policy.NewGate(hostfuncs.Call{ID: "c", Principal: principal})
	k.t.Cleanup(g.Close)
	return g
}

// ask returns the answer of a method, or the kind and text of its denial.
func ask(t *testing.T, g *hostfuncs.Gate, method, params string) string {
	t.Helper()
	raw, err := g.Ask(t.Context(), method, json.RawMessage(params), nil)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func TestKV_isStoredWhenCallSucceeds(t *testing.T) {
	k := newKeeper(t, "kv: 1KiB")
	a := k.call("stdio:1")
	if got := ask(t, a, "kv/get", `{"key":"k"}`); got != `{"value":null,"version":0}` {
		t.Errorf("got %s, want null and version 0", got)
	}
	if got := ask(t, a, "kv/set", `{"key":"k","value":{"n":[1]},"ifVersion":0}`); got != `{"version":-1}` {
		t.Errorf("got %s, want version -1", got)
	}
	if got := ask(t, a, "kv/get", `{"key":"k"}`); got != `{"value":{"n":[1]},"version":-1}` {
		t.Errorf("its own write: got %s, want the value with version -1", got)
	}
	if got := ask(t, a, "kv/set", `{"key":"k","value":2,"ifVersion":-1}`); got != `{"version":-2}` {
		t.Errorf("got %s, want version -2", got)
	}
	for _, other := range []*hostfuncs.Gate{k.call("stdio:1"), k.call("token:x")} {
		if got := ask(t, other, "kv/get", `{"key":"k"}`); got != `{"value":null,"version":0}` {
			t.Errorf("before the call has succeeded: got %s, want a null value", got)
		}
	}
	if err := a.Land(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, k.call("stdio:1"), "kv/get", `{"key":"k"}`); !strings.HasPrefix(got, `{"value":2,"version":`) {
		t.Errorf("got %s, want value 2 with a version", got)
	}
	if got := ask(t, k.call("token:x"), "kv/get", `{"key":"k"}`); got != `{"value":null,"version":0}` {
		t.Errorf("another principal: got %s, want a null value", got)
	}
	b := k.call("stdio:1")
	ask(t, b, "kv/delete", `{"key":"k"}`)
	b.Close() // it failed
	if got := ask(t, k.call("stdio:1"), "kv/get", `{"key":"k"}`); !strings.HasPrefix(got, `{"value":2`) {
		t.Errorf("after a call that failed: got %s, want the value 2", got)
	}
}

func TestKV_comparesVersions(t *testing.T) {
	k := newKeeper(t, "kv: 1KiB")
	first := k.call("p")
	ask(t, first, "kv/set", `{"key":"n","value":0}`)
	if err := first.Land(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, b := k.call("p"), k.call("p")
	version := jsonraw.Get(json.RawMessage(ask(t, a, "kv/get", `{"key":"n"}`)), "version")
	for _, g := range []*hostfuncs.Gate{a, b} {
		if got := ask(t, g, "kv/set", fmt.Sprintf(`{"key":"n","value":1,"ifVersion":%s}`, version)); !strings.HasPrefix(got, `{"version"`) {
			t.Errorf("got %s, want a version", got)
		}
	}
	if err := a.Land(t.Context()); err != nil {
		t.Error(err)
	}
	wantEnd(t, b.Land(t.Context()), runtime.KindConflict, `key "n" was changed by another call, and nothing was written`)
	if got := ask(t, k.call("p"), "kv/set", fmt.Sprintf(`{"key":"n","value":1,"ifVersion":%s}`, version)); !strings.HasPrefix(got, `conflict: key "n" has version`) {
		t.Errorf("got %s, want a conflict", got)
	}
}

// TestKV_isCommittedTogetherWithFiles checks that files and keys of one call are committed together or not at all.
func TestKV_isCommittedTogetherWithFiles(t *testing.T) {
	k := newKeeper(t, "kv: 10B", "fs: write "+t.TempDir()+"/**")
	dir := strings.TrimSuffix(strings.TrimPrefix(strings.Split(k.policy.Grants().String(), "\n")[1], "fs: write "), "/**")
	a, b := k.call("p"), k.call("p")
	for _, g := range []*hostfuncs.Gate{a, b} {
		if e := writeFile(g.Files(), dir+"/f", "x"); e != wasi.ESUCCESS {
			t.Fatalf("got errno %v, want success", e)
		}
	}
	ask(t, a, "kv/set", `{"key":"a","value":12345}`)
	ask(t, b, "kv/set", `{"key":"b","value":12345}`)
	if err := a.Land(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, filepath.Join(dir, "f")); got != "x" {
		t.Errorf("file: got %q, want x", got)
	}
	if e := writeFile(b.Files(), dir+"/f", "y"); e != wasi.ESUCCESS {
		t.Fatalf("got errno %v, want success", e)
	}
	wantEnd(t, b.Land(t.Context()), runtime.KindLimit, "it keeps more than the 10 bytes that it was granted, and nothing was written")
	if got := readAll(t, filepath.Join(dir, "f")); got != "x" {
		t.Errorf("file: got %q, want x", got)
	}
}

func TestKV_listsOwnChanges(t *testing.T) {
	k := newKeeper(t, "kv: 1MiB")
	g := k.call("p")
	for _, key := range []string{"a/1", "a/2", "b"} {
		ask(t, g, "kv/set", `{"key":"`+key+`","value":1}`)
	}
	if err := g.Land(t.Context()); err != nil {
		t.Fatal(err)
	}
	g = k.call("p")
	ask(t, g, "kv/delete", `{"key":"a/1"}`)
	ask(t, g, "kv/set", `{"key":"a/0","value":1}`)
	for params, want := range map[string]string{
		`{}`:                        "a/0 a/2 b false",
		`{"prefix":"a/"}`:           "a/0 a/2 false",
		`{"limit":1}`:               "a/0 true",
		`{"after":"a/0","limit":1}`: "a/2 true",
		`{"after":"b"}`:             " false",
	} {
		answer := json.RawMessage(ask(t, g, "kv/list", params))
		items, err := jsonraw.Elements(jsonraw.Get(answer, "keys"))
		if err != nil {
			t.Fatalf("%s: got %s, want keys", params, answer)
		}
		var names []string
		for _, i := range items {
			name, _ := jsonraw.String(jsonraw.Get(i, "key"))
			names = append(names, name)
		}
		if got := strings.Join(names, " ") + " " + string(jsonraw.Get(answer, "more")); got != want {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
}

func TestKV_rejectsInvalidRequests(t *testing.T) {
	k := newKeeper(t, "kv: 1KiB")
	g := k.call("p")
	for call, want := range map[string]string{
		`kv/set {"key":"k"}`:                                             "invalid: value is JSON",
		`kv/set {"key":"","value":1}`:                                    "invalid: key is a text",
		`kv/set {"key":5,"value":1}`:                                     "invalid: key is a text",
		`kv/get {}`:                                                      "invalid: key is a text",
		`kv/set {"key":"k","value":1,"ttlMs":-1}`:                        "invalid: ttlMs",
		`kv/set {"key":"k","value":1,"ifVersion":"x"}`:                   "invalid: ifVersion",
		`kv/set {"key":"k","value":"` + strings.Repeat("x", 2000) + `"}`: "limit: plugin \"demo\" keeps more",
	} {
		method, params, _ := strings.Cut(call, " ")
		if got := ask(t, g, method, params); !strings.HasPrefix(got, want) {
			t.Errorf("%.60s: got %s, want %s", call, got, want)
		}
	}
	for _, nobody := range []string{"anonymous", ""} {
		if got := ask(t, k.call(nobody), "kv/get", `{"key":"k"}`); !strings.HasPrefix(got, "unsupported: nothing is kept") {
			t.Errorf("%q: got %s, want nothing kept", nobody, got)
		}
	}
	if got := ask(t, newKeeper(t).call("p"), "kv/get", `{"key":"k"}`); !strings.HasPrefix(got, `denied: plugin "demo" may not read a stored value`) {
		t.Errorf("got %s, want a denial", got)
	}
	if got := ask(t, newGate(t, nil, "kv: 1KiB"), "kv/get", `{"key":"k"}`); !strings.HasPrefix(got, "unsupported: nothing is kept") {
		t.Errorf("got %s, want unsupported", got)
	}
}

func TestKV_expires(t *testing.T) {
	now := time.Now()
	k := newKeeperAt(t, func() time.Time { return now }, "kv: 1KiB")
	g := k.call("p")
	ask(t, g, "kv/set", `{"key":"k","value":1,"ttlMs":60000}`)
	if err := g.Land(t.Context()); err != nil {
		t.Fatal(err)
	}
	now = now.Add(59 * time.Second)
	if got := ask(t, k.call("p"), "kv/get", `{"key":"k"}`); !strings.HasPrefix(got, `{"value":1,`) {
		t.Errorf("before it expires: got %s, want the value 1", got)
	}
	now = now.Add(2 * time.Second)
	if got := ask(t, k.call("p"), "kv/get", `{"key":"k"}`); got != `{"value":null,"version":0}` {
		t.Errorf("after it expired: got %s, want a null value", got)
	}
}

func wantEnd(t *testing.T, err error, kind runtime.Kind, message string) {
	t.Helper()
	if want := string(kind) + ": " + message; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
