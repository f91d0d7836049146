package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// echo answers with its method and params.
func echo(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	o := jsonraw.Object{{Key: "method", Value: jsonraw.AppendString(nil, method)}, {Key: "params", Value: params}}
	return o.Append(nil), nil
}

func addGo(t testing.TB, r *Registry, name, manifest string) {
	t.Helper()
	if err := r.AddGo(name, []byte(manifest), echo); err != nil {
		t.Fatal(err)
	}
}

func toolNames(s *catalog.Snapshot) []string {
	var names []string
	for _, t := range s.Tools {
		names = append(names, t.Name)
	}
	return names
}

func bare() *bool { no := false; return &no }

const everything = `{"tools":[{"name":"do it","inputSchema":{"type":"object"},"x":1}],
"prompts":[{"name":"ask"}],"resources":[{"uri":"test://a/fixed","name":"f"}],
"resourceTemplates":[{"uriTemplate":"test://a/{id}","name":"i"}]}`

func TestAddGo_refusesBadManifests(t *testing.T) {
	r := open(t, Options{})
	for name, manifest := range map[string]string{
		"sallyport": `{}`, "a-b": `{}`, "a": `{"tools":[{"name":"x"}]}`, "b": `[]`,
		"c": `{"resources":[{"uri":"sallyport://x","name":"x"}]}`,
	} {
		if err := r.AddGo(name, []byte(manifest), echo); err == nil {
			t.Errorf("%s with %s: got no error, want one", name, manifest)
		}
	}
}

// publish lines also apply to calls of entries that a client listed before.
func TestDecision4_PublishHoldsAtCallTime(t *testing.T) {
	r := open(t, Options{})
	addGo(t, r, "p", everything)
	before := r.Snapshot()
	tool, _ := before.Tool("p-do_it")
	template, _ := before.Resource("test://a/7")
	hide := func(words ...string) {
		if err := r.Configure(map[string]Config{"p": {Hide: words}}); err != nil {
			t.Fatal(err)
		}
	}
	hide("do it", "test://a/fixed")
	if _, err := tool.Call(t.Context(), catalog.Call{}); !errors.Is(err, catalog.ErrGone) {
		t.Errorf("call of a hidden tool: got %v, want %v", err, catalog.ErrGone)
	}
	if _, err := answerOf(template.Read(t.Context(), catalog.Call{Params: json.RawMessage(`{"uri":"test://a/7"}`)})); err != nil {
		t.Error(err)
	}
	fixed, ok := r.Snapshot().Resource("test://a/fixed")
	if !ok {
		t.Fatal("test://a/fixed: got no resource, want the template's")
	}
	for _, x := range []catalog.Reader{template, fixed} {
		if _, err := answerOf(x.Read(t.Context(), catalog.Call{Params: json.RawMessage(`{"uri":"test://a/fixed"}`)})); !errors.Is(err, catalog.ErrGone) {
			t.Errorf("read of a hidden resource: got %v, want %v", err, catalog.ErrGone)
		}
	}
	if _, ok := r.Snapshot().Tool("p-do_it"); ok {
		t.Errorf("got tools %q, want p-do_it hidden", toolNames(r.Snapshot()))
	}
	hide("nothing")
	if w := status(r, "p").Warnings; len(w) != 1 || !strings.Contains(w[0], `"nothing"`) {
		t.Errorf("got %q, want number = 1, w[0] with \"\"nothing\"\"", w)
	}
	if _, err := tool.Call(t.Context(), catalog.Call{}); err != nil {
		t.Errorf("call of a tool that is shown again: got %v, want no error", err)
	}
}

// A plugin can report updates of its own resources only. A replaced plugin reports an update of all its resources.
func TestWatch_reportsUpdatesOfOwnResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, Options{})
		own := `{"resources":[{"uri":"a://x","name":"x"},{"uri":"a://hidden","name":"h","hidden":true}],` +
			`"resourceTemplates":[{"uriTemplate":"a://t/{id}","name":"t"}]}`
		tell := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			for _, uri := range []string{"a://x", "a://t/1", "a://hidden", "a://none", "sallyport://plugins"} {
				params := json.RawMessage(`{"uri":"` + uri + `"}`)
				if _, err := runtime.GateFrom(ctx).Ask(ctx, "notifications/resources/updated", params, nil); err != nil {
					return nil, err
				}
			}
			return json.RawMessage("{}"), nil
		}
		addPlugin := func() {
			if err := r.AddGo("p", []byte(own), tell); err != nil {
				t.Fatal(err)
			}
		}
		addPlugin()
		told := make(chan catalog.Change, 8)
		time.Sleep(2 * catalog.NotifyDelay) // in the bubble's time: changes of the start are delivered,
		synctest.Wait()                     // also by a timer of the same moment
		defer r.Watch(func(c catalog.Change) { told <- c })()
		reader, _ := r.Snapshot().Resource("a://x")
		if _, err := answerOf(reader.Read(t.Context(), catalog.Call{})); err != nil {
			t.Fatal(err)
		}
		if got, want := <-told, (catalog.Change{Updated: map[string]bool{"a://x": true, "a://t/1": true}}); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		addPlugin()
		if got := <-told; got.Lists() || !got.Replaced["p"] || len(got.Replaced) != 1 {
			t.Errorf("got change %+v, want only p replaced and no lists", got)
		}
		if got := r.Snapshot().Owner("a://t/1"); got != "p" {
			t.Errorf("got owner %q, want \"p\"", got)
		}
	})
}

// A hidden entry is unknown until the plugin shows it, and then visible to the caller of that call only. Hiding applies
// to that caller only, too. Neither is logged.
func TestDecision5_Visible(t *testing.T) {
	var log bytes.Buffer
	r := open(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	manifest := `{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","hidden":true,"inputSchema":{"type":"object"}}]}`
	show := ""
	err := r.AddGo("p", []byte(manifest), func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		_, err := runtime.GateFrom(ctx).Ask(ctx, "notifications/tools/list_changed", json.RawMessage(show), nil)
		return json.RawMessage("{}"), err
	})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan catalog.Change, 8)
	defer r.Watch(func(c catalog.Change) { told <- c })()
	if got := toolNames(r.Snapshot()); !slices.Equal(got, []string{"p-a"}) {
		t.Fatalf("got tools %q, want [\"p-a\"]", got)
	}
	tool, _ := r.Snapshot().Tool("p-a")
	for _, c := range []struct {
		show string
		want []string
	}{
		{`{"visible":["a","b","stranger"]}`, []string{"p-a", "p-b"}}, {`{}`, []string{"p-a", "p-b"}},
		{`{"visible":7}`, []string{"p-a", "p-b"}}, {`{"visible":["a"]}`, []string{"p-a"}},
		{`{"show":["b","stranger"]}`, []string{"p-a", "p-b"}}, {`{"hide":["b","stranger"]}`, []string{"p-a"}},
		{`{"show":["b"],"hide":["b"]}`, []string{"p-a"}}, {`{"show":"b","hide":{}}`, []string{"p-a"}},
	} {
		show = c.show
		if _, err := tool.Call(t.Context(), catalog.Call{Principal: "alice"}); err != nil {
			t.Fatal(err)
		}
		if got := toolNames(r.Snapshot().For(identity.Identity{Principal: "alice"})); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.show, got, c.want)
		}
		if got := toolNames(r.Snapshot().For(identity.Identity{Principal: "bob"})); !slices.Equal(got, []string{"p-a"}) {
			t.Errorf("%s: got tools %q for another caller, want [\"p-a\"]", c.show, got)
		}
	}
	show = `{"visible":[]}`
	if _, err := tool.Call(t.Context(), catalog.Call{Principal: "alice"}); err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Call(t.Context(), catalog.Call{Principal: "alice"}); err == nil {
		t.Error("alice's call of a tool hidden from her: got no error, want one")
	}
	if _, err := tool.Call(t.Context(), catalog.Call{Principal: "bob"}); err != nil {
		t.Errorf("bob's call of a tool hidden from alice: got %v, want no error", err)
	}
	if log.Len() != 0 {
		t.Errorf("got log %s, want none", log.String())
	}
	if c := <-told; !c.Tools || c.Prompts || c.Resources {
		t.Errorf("got change %+v, want only tools", c)
	}
}

func TestWatch_coalescesChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, Options{})
		time.Sleep(time.Second)
		var mu sync.Mutex
		var told []catalog.Change
		stop := r.Watch(func(c catalog.Change) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, c)
		})
		before := r.Snapshot()
		for i := range 20 {
			addGo(t, r, fmt.Sprintf("p%d", i), tools("t"))
		}
		addGo(t, r, "q", `{"prompts":[{"name":"x"}]}`)
		time.Sleep(time.Second)
		if err := r.Configure(nil); err != nil { // nothing changed
			t.Error(err)
		}
		time.Sleep(time.Second)
		stop()
		addGo(t, r, "late", tools("t"))
		time.Sleep(time.Second)
		want := []catalog.Change{{Tools: true, Prompts: true, Updated: map[string]bool{"sallyport://plugins": true}}}
		if !reflect.DeepEqual(told, want) {
			t.Errorf("got changes %+v, want %+v", told, want)
		}
		if len(before.Tools) != 0 || r.Snapshot().Generation <= before.Generation {
			t.Errorf("got %d tools in the snapshot from before, generation %d after %d; want 0 and a greater one", len(before.Tools), r.Snapshot().Generation, before.Generation)
		}
	})
}

func TestBuiltin_listsPlugins(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "broken.wasm", []byte("no wasm at all"))
	r := open(t, options(t, dir))
	reader, ok := r.Snapshot().Resource("sallyport://plugins")
	if !ok {
		t.Fatal("sallyport://plugins: got no resource, want one")
	}
	raw, err := answerOf(reader.Read(t.Context(), catalog.Call{Params: json.RawMessage(`{"uri":"sallyport://plugins"}`)}))
	if err != nil {
		t.Fatal(err)
	}
	contents, _ := jsonraw.Elements(jsonraw.Get(raw, "contents"))
	text, _ := jsonraw.String(jsonraw.Get(contents[0], "text"))
	want := `{"plugins":[{"name":"broken","file":"broken.wasm","state":"failed","error":"`
	if !strings.HasPrefix(text, want) || strings.Contains(text, dir) {
		t.Errorf("got %s, want text beginning with %v, text without %v", text, want, dir)
	}
}

func TestConfigure_changesNothingOnError(t *testing.T) {
	r := open(t, Options{})
	addGo(t, r, "p", tools("t"))
	before := r.Snapshot()
	for _, bad := range []map[string]Config{{"a-b": {}}, {"sallyport": {}}, {"p": {Source: "https://example.com/x.wasm"}}} {
		if err := r.Configure(bad); err == nil {
			t.Errorf("%v: got no error, want one", bad)
		}
	}
	if r.Snapshot() != before {
		t.Error("got a new snapshot after refused configurations, want the one from before")
	}
}

func TestClose_endsEverything(t *testing.T) {
	r, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	addGo(t, r, "p", tools("t"))
	tool, _ := r.Snapshot().Tool("p-t")
	for range 2 {
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := tool.Call(t.Context(), catalog.Call{}); !errors.Is(err, catalog.ErrGone) {
		t.Errorf("got %v, want catalog.ErrGone", err)
	}
	if err := r.AddGo("q", []byte(`{}`), echo); !errors.Is(err, errClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if err := r.Configure(nil); !errors.Is(err, errClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// A line with {workspace} counts as one for the configured folder.
func TestPublish_fileURIsOfTheWorkspace(t *testing.T) {
	line, err := grant.ParseLine("fs: read {workspace}/**")
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]int{"/work": 1, "/other": 0, "": 0} {
		r := open(t, Options{Plugins: map[string]Config{"p": {Grants: grant.NewSet(line), Workspace: folder}}})
		addGo(t, r, "p", `{"resourceTemplates":[{"uriTemplate":"file:///work/{+path}","name":"w"}]}`)
		if n := len(r.Snapshot().Templates); n != want {
			t.Errorf("workspace %q: %d templates, want %d", folder, n, want)
		}
	}
}

// A configuration with only line numbers changed is a no-op: a plugin keeps its instances.
func TestConfigure_keepsTheGenerationOfMovedLines(t *testing.T) {
	dir := t.TempDir()
	honest().write(t, dir, "p.wasm")
	lines := func(first int) map[string]Config {
		var all []grant.Grant
		for i, text := range []string{"elicitation", "fs: read /srv/**", "secret: KEY {to: https://api.example.com/**}"} {
			g, err := grant.ParseLine(text)
			if err != nil {
				t.Fatal(err)
			}
			g.Line = first + i
			all = append(all, g)
		}
		return map[string]Config{"p": {Grants: grant.NewSet(all...).Under(grant.NewSet(all...))}}
	}
	o := options(t, dir)
	o.Plugins = lines(3)
	r := open(t, o)
	now := func() *generation { return serving(r, "p") }
	before := now()
	if err := r.Configure(lines(9)); err != nil {
		t.Fatal(err)
	}
	if before == nil || now() != before {
		t.Errorf("got module %p, want the one from before, %p", now(), before)
	}
	changed := lines(9)
	changed["p"] = Config{Grants: changed["p"].Grants.With(changed["p"].Grants.Lines()[0])}
	if err := r.Configure(changed); err != nil {
		t.Fatal(err)
	}
	if now() == before {
		t.Errorf("got module %p again after a line more, want a new one", before)
	}
}

// All default limits apply to plugins without settings, also after a change.
func TestReconfigure_appliesDefaults(t *testing.T) {
	limits := func(n int64) (l runtime.Limits) {
		v := reflect.ValueOf(&l).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInt() {
				f.SetInt(n + int64(i))
			} else {
				f.SetUint(uint64(n) + uint64(i))
			}
		}
		return l
	}
	dir := t.TempDir()
	honest().write(t, dir, "p.wasm")
	o := options(t, dir)
	o.Defaults = limits(1 << 28)
	r := open(t, o)
	now := func() runtime.Limits { return serving(r, "p").limits }
	if now() != limits(1<<28) {
		t.Errorf("got %+v, want limits(1<<28)", now())
	}
	if err := r.Reconfigure(nil, limits(1<<29)); err != nil {
		t.Fatal(err)
	}
	if now() != limits(1<<29) {
		t.Errorf("got %+v, want limits(1<<29)", now())
	}
	if err := r.Configure(map[string]Config{"p": {Limits: runtime.Limits{Output: 7}}}); err != nil {
		t.Fatal(err)
	}
	want := limits(1 << 29)
	want.Output = 7
	if now() != want {
		t.Errorf("got %+v, want %v", now(), want)
	}
}
