package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/names"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// echo answers with its method and params.
func echo(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	o := rawjson.Object{{Key: "method", Value: rawjson.AppendString(nil, method)}, {Key: "params", Value: params}}
	return o.Append(nil), nil
}

func addGo(t testing.TB, r *Registry, name, manifest string) {
	t.Helper()
	if err := r.AddGo(name, []byte(manifest), echo); err != nil {
		t.Fatal(err)
	}
}

func toolNames(s *Snapshot) []string {
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

func TestAddGo_CallsWithLocalNames(t *testing.T) {
	r := open(t, Options{})
	addGo(t, r, "p", everything)
	s := r.Snapshot()
	tool, _ := s.Tool("p-do_it")
	prompt, _ := s.Prompt("p-ask")
	template, _ := s.Template("test://a/{id}")
	fixed, _ := s.Resource("test://a/fixed")
	other, _ := s.Resource("test://a/7")
	if other != Reader(template) || fixed == Reader(template) {
		t.Error("the wrong one reads")
	}
	if want := `{"name":"p-do_it","inputSchema":{"type":"object"},"x":1}`; string(tool.Definition) != want {
		t.Errorf("definition %s, want %s", tool.Definition, want)
	}
	for name, c := range map[string]struct {
		call func(context.Context, Call) (json.RawMessage, error)
		in   string
		want string
	}{
		"tool":     {tool.Call, `{"_meta":{"a":1},"name":"p-do_it","arguments":{"x":1.50}}`, `{"method":"tools/call","params":{"_meta":{"a":1},"name":"do it","arguments":{"x":1.50}}}`},
		"prompt":   {prompt.Get, `{"name":"p-ask"}`, `{"method":"prompts/get","params":{"name":"ask"}}`},
		"resource": {fixed.Read, `{"uri":"test://a/fixed"}`, `{"method":"resources/read","params":{"uri":"test://a/fixed"}}`},
		"template": {other.Read, `{"uri":"test://a/7"}`, `{"method":"resources/read","params":{"uri":"test://a/7"}}`},
		"complete": {prompt.Complete, `{"ref":{"type":"ref/prompt","name":"p-ask"},"argument":{}}`,
			`{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"ask"},"argument":{}}}`},
		"variable": {template.Complete, `{"ref":{"type":"ref/resource","uri":"test://a/{id}"}}`,
			`{"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"test://a/{id}"}}}`},
	} {
		got, err := c.call(t.Context(), Call{Params: json.RawMessage(c.in)})
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s %v, want %s", name, got, err, c.want)
		}
	}
}

func TestAddGo_Refuses(t *testing.T) {
	r := open(t, Options{})
	for name, manifest := range map[string]string{
		"sallyport": `{}`, "a-b": `{}`, "a": `{"tools":[{"name":"x"}]}`, "b": `[]`,
		"c": `{"resources":[{"uri":"sallyport://x","name":"x"}]}`,
	} {
		if err := r.AddGo(name, []byte(manifest), echo); err == nil {
			t.Errorf("%s %s is taken", name, manifest)
		}
	}
}

func TestAddGo_ErrorsHaveAForm(t *testing.T) {
	r := open(t, Options{})
	var give error
	err := r.AddGo("p", []byte(tools("t")), func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, give })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err  error
		kind runtime.Kind
	}{
		{errors.New("x"), runtime.KindInternal}, {context.Canceled, runtime.KindCancelled},
		{context.DeadlineExceeded, runtime.KindDeadline}, {&runtime.EndError{Kind: runtime.KindLimit}, runtime.KindLimit},
	} {
		give = c.err
		_, err := callText(t, r, "p-t", Call{})
		var end *runtime.EndError
		if !errors.As(err, &end) || end.Kind != c.kind {
			t.Errorf("%v became %v", c.err, err)
		}
	}
	give = &runtime.GuestError{Code: -32601}
	var guest *runtime.GuestError
	if _, err := callText(t, r, "p-t", Call{}); !errors.As(err, &guest) {
		t.Errorf("%v", err)
	}
	if _, err := r.Snapshot().Tools[0].Call(t.Context(), Call{Params: json.RawMessage("[]")}); !errors.As(err, &guest) || guest.Code != -32602 {
		t.Errorf("%v", err)
	}
}

// Two tools of one plugin that come to one name: the second is left out, and said.
func TestPublish_OneNameTwice(t *testing.T) {
	r := open(t, Options{})
	addGo(t, r, "p", tools("a b", "a_b", "a.b", "c"))
	if got := toolNames(r.Snapshot()); !slices.Equal(got, []string{"p-a_b", "p-c"}) {
		t.Errorf("%q", got)
	}
	got, err := callText(t, r, "p-a_b", Call{})
	if err != nil || !strings.Contains(got, `"a b"`) {
		t.Errorf("%s %v", got, err)
	}
	if w := status(r, "p").Warnings; len(w) != 2 || !strings.Contains(w[0], `"a_b" is left out`) {
		t.Errorf("%q", w)
	}
}

// Two plugins that claim one name: both are held, whatever the order, and said.
func TestDecision4_CollisionHoldsBoth(t *testing.T) {
	manifest := func(extra string) string {
		return `{"tools":[{"name":"same","inputSchema":{"type":"object"}},{"name":"` + extra + `","inputSchema":{"type":"object"}}],
"prompts":[{"name":"same"}],"resources":[{"uri":"test://a/x","name":"x"}],"resourceTemplates":[{"uriTemplate":"test://t/{` + extra + `}","name":"t"}]}`
	}
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		r := open(t, Options{Plugins: map[string]Config{"a": {Prefix: bare()}, "b": {Prefix: bare()}}})
		for _, name := range order {
			addGo(t, r, name, manifest("only_"+name))
		}
		s := r.Snapshot()
		if got := toolNames(s); !slices.Equal(got, []string{"only_a", "only_b"}) {
			t.Errorf("tools %q", got)
		}
		if len(s.Prompts) != 0 || len(s.Resources) != 1 || len(s.Templates) != 0 {
			t.Errorf("%d prompts, %d resources, %d templates", len(s.Prompts), len(s.Resources), len(s.Templates))
		}
		if _, ok := s.Resource("test://t/x"); ok {
			t.Error("a held template reads")
		}
		for _, name := range order {
			if w := status(r, name).Warnings; len(w) != 4 || !strings.Contains(w[0], "held back: the plugins a, b") {
				t.Errorf("%q", w)
			}
		}
		// Hiding it in one lets the other serve.
		err := r.Configure(map[string]Config{"a": {Prefix: bare(), Hide: []string{"same"}}, "b": {Prefix: bare()}})
		if tool, ok := r.Snapshot().Tool("same"); err != nil || !ok || tool.Plugin != "b" {
			t.Errorf("%v %v", tool, err)
		}
	}
}

func TestDecision4_LongestLiteralPrefixWins(t *testing.T) {
	r := open(t, Options{})
	addGo(t, r, "a", `{"resourceTemplates":[{"uriTemplate":"test://h/{+all}","name":"t"}]}`)
	addGo(t, r, "b", `{"resourceTemplates":[{"uriTemplate":"test://h/deep/{x}","name":"t"},{"uriTemplate":"test://h/deep/{x}/y","name":"t"}]}`)
	addGo(t, r, "c", `{"resources":[{"uri":"test://h/deep/exact","name":"t"}],"resourceTemplates":[{"uriTemplate":"test://h/deep/{+x}","name":"t"}]}`)
	s := r.Snapshot()
	for uri, want := range map[string]string{
		"test://h/z": "a", "test://h/deep/exact": "c", "test://h/deep/q/r": "c",
		"test://h/deep/q": "collision b c", "test://h/deep/q/y": "collision b c", "test://other/z": "none",
	} {
		got := "none"
		reader, _ := s.Resource(uri)
		switch x := reader.(type) {
		case *Template:
			if x != nil {
				got = x.Plugin
			}
		case *Resource:
			got = x.Plugin
		case *collision:
			got = "collision " + strings.Join(x.plugins[:], " ")
			var end *runtime.EndError
			if _, err := x.Read(t.Context(), Call{}); !errors.As(err, &end) || end.Kind != runtime.KindConflict {
				t.Errorf("%v", err)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
	if reader, ok := s.Resource("test://h/" + strings.Repeat("x", manifest.MaxURI)); ok || reader != nil {
		t.Error("a URI without bounds is matched")
	}
}

// publish lines hold for calls to entries that a client saw before they came.
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
	if _, err := tool.Call(t.Context(), Call{}); !errors.Is(err, ErrGone) {
		t.Errorf("a hidden tool answers: %v", err)
	}
	if _, err := template.Read(t.Context(), Call{Params: json.RawMessage(`{"uri":"test://a/7"}`)}); err != nil {
		t.Error(err)
	}
	for _, x := range []Reader{template, must(r.Snapshot().Resource("test://a/fixed"))} {
		if _, err := x.Read(t.Context(), Call{Params: json.RawMessage(`{"uri":"test://a/fixed"}`)}); !errors.Is(err, ErrGone) {
			t.Errorf("a hidden resource is read through a template: %v", err)
		}
	}
	if _, ok := r.Snapshot().Tool("p-do_it"); ok {
		t.Error("a hidden tool is listed")
	}
	hide("nothing")
	if w := status(r, "p").Warnings; len(w) != 1 || !strings.Contains(w[0], `"nothing"`) {
		t.Errorf("%q", w)
	}
	if _, err := tool.Call(t.Context(), Call{}); err != nil {
		t.Error("not hidden any more:", err)
	}
}

func must(x Reader, ok bool) Reader {
	if !ok {
		return &collision{}
	}
	return x
}

func TestPublish_Only(t *testing.T) {
	r := open(t, Options{Plugins: map[string]Config{"p": {Only: []string{"ask", "test://a/{id}"}}}})
	addGo(t, r, "p", everything)
	s := r.Snapshot()
	if len(s.Tools) != 0 || len(s.Prompts) != 1 || len(s.Resources) != 1 || len(s.Templates) != 1 {
		t.Errorf("%d tools, %d prompts, %d resources, %d templates", len(s.Tools), len(s.Prompts), len(s.Resources), len(s.Templates))
	}
}

func TestPublish_FileURIsNeedAGrant(t *testing.T) {
	const manifest = `{"resources":[{"uri":"file:///work/a.txt","name":"a"},{"uri":"file:///etc/passwd","name":"b"},{"uri":"file://host/work/a","name":"c"},{"uri":"file:///work/../etc/x","name":"d"}],
"resourceTemplates":[{"uriTemplate":"file:///work/{+path}","name":"w"},{"uriTemplate":"file:///{+path}","name":"all"},{"uriTemplate":"file:///etc/{+path}","name":"e"}]}`
	line, err := grant.ParseLine("fs: read /work/**")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		grants               *grant.Set
		resources, templates []string
	}{
		{nil, nil, nil},
		{grant.NewSet(line), []string{"file:///work/a.txt"}, []string{"file:///work/{+path}", "file:///{+path}"}},
	} {
		r := open(t, Options{Plugins: map[string]Config{"p": {Grants: c.grants}}})
		addGo(t, r, "p", manifest)
		var resources, templates []string
		for _, x := range r.Snapshot().Resources {
			if x.Plugin == "p" {
				resources = append(resources, x.URI)
			}
		}
		for _, x := range r.Snapshot().Templates {
			templates = append(templates, x.URITemplate)
		}
		if !slices.Equal(resources, c.resources) || !slices.Equal(templates, c.templates) {
			t.Errorf("%q %q, want %q %q", resources, templates, c.resources, c.templates)
		}
	}
}

// A plugin tells that its own resources hold something else, and no other's. A plugin that is replaced has
// told so of all of them.
func TestChange_Updated(t *testing.T) {
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
	told := make(chan Change, 8)
	time.Sleep(2 * coalesce) // what the start has to tell is told
	defer r.Watch(func(c Change) { told <- c })()
	reader, _ := r.Snapshot().Resource("a://x")
	if _, err := reader.Read(t.Context(), Call{}); err != nil {
		t.Fatal(err)
	}
	if got, want := <-told, (Change{Updated: map[string]bool{"a://x": true, "a://t/1": true}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	addPlugin()
	if got := <-told; got.Lists() || !got.Replaced["p"] || len(got.Replaced) != 1 {
		t.Errorf("%+v", got)
	}
	if got := r.Snapshot().Owner("a://t/1"); got != "p" {
		t.Errorf("owner %q", got)
	}
}

// So many resources of one plugin that they are not counted one by one.
func TestChange_ManyUpdated(t *testing.T) {
	var c Change
	for i := range 3 * maxUpdated {
		c = c.Or(c.updated("p", fmt.Sprint(i)))
	}
	if len(c.Updated) != maxUpdated || !c.Replaced["p"] {
		t.Errorf("%d updated, replaced %v", len(c.Updated), c.Replaced)
	}
}

// What a plugin hides is not there until it shows it, and then for everybody.
func TestDecision5_Visible(t *testing.T) {
	r := open(t, Options{})
	manifest := `{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","hidden":true,"inputSchema":{"type":"object"}}]}`
	show := ""
	err := r.AddGo("p", []byte(manifest), func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		_, err := runtime.GateFrom(ctx).Ask(ctx, "notifications/tools/list_changed", json.RawMessage(show), nil)
		return json.RawMessage("{}"), err
	})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan Change, 8)
	defer r.Watch(func(c Change) { told <- c })()
	if got := toolNames(r.Snapshot()); !slices.Equal(got, []string{"p-a"}) {
		t.Fatalf("%q", got)
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
		if _, err := tool.Call(t.Context(), Call{}); err != nil {
			t.Fatal(err)
		}
		if got := toolNames(r.Snapshot()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.show, got, c.want)
		}
	}
	if err := r.AddGo("spam", []byte(tools("x", "y")), func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
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
	}); err != nil {
		t.Fatal(err)
	}
	before := r.Snapshot().Generation
	if _, err := callText(t, r, "spam-x", Call{}); err != nil {
		t.Fatal(err)
	}
	if n := r.Snapshot().Generation - before; n == 0 || n > maxChanges {
		t.Errorf("one call made the catalogue anew %d times", n)
	}
	if c := <-told; !c.Tools || c.Prompts || c.Resources {
		t.Errorf("%+v", c)
	}
}

func TestSnapshot_OrderIsFixed(t *testing.T) {
	var first []string
	for _, order := range [][]string{{"c", "a", "b"}, {"b", "c", "a"}} {
		r := open(t, Options{})
		for _, name := range order {
			addGo(t, r, name, tools("z", "y"))
		}
		got := toolNames(r.Snapshot())
		if first == nil {
			first = got
		}
		if !slices.Equal(got, first) || !slices.IsSorted(got) {
			t.Errorf("%q, want %q", got, first)
		}
	}
}

func TestTool_Schemas(t *testing.T) {
	r := open(t, Options{})
	addGo(t, r, "p", `{"tools":[{"name":"t","inputSchema":{"type":"object","required":["a"]},"outputSchema":{"type":"array"}},{"name":"u","inputSchema":{"type":"object"}}]}`)
	tool, _ := r.Snapshot().Tool("p-t")
	input, err := tool.Input()
	if err != nil || input.Validate([]byte(`{}`)) == nil || input.Validate([]byte(`{"a":1}`)) != nil {
		t.Errorf("%v", err)
	}
	if again, _ := tool.Input(); again != input {
		t.Error("compiled twice")
	}
	if output, err := tool.Output(); err != nil || output.Validate([]byte(`[]`)) != nil {
		t.Errorf("%v", err)
	}
	if output, err := r.Snapshot().Tools[1].Output(); output != nil || err != nil {
		t.Errorf("%v %v", output, err)
	}
}

func TestWatch_Coalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, Options{})
		time.Sleep(time.Second)
		var mu sync.Mutex
		var told []Change
		stop := r.Watch(func(c Change) {
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
		if err := r.Configure(nil); err != nil { // nothing is another
			t.Error(err)
		}
		time.Sleep(time.Second)
		stop()
		addGo(t, r, "late", tools("t"))
		time.Sleep(time.Second)
		want := []Change{{Tools: true, Prompts: true, Updated: map[string]bool{"sallyport://plugins": true}}}
		if !reflect.DeepEqual(told, want) {
			t.Errorf("%+v", told)
		}
		if len(before.Tools) != 0 || r.Snapshot().Generation <= before.Generation {
			t.Error("a snapshot changed")
		}
	})
}

func TestBuiltin_ListsPlugins(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "broken.wasm", []byte("no wasm at all"))
	r := open(t, options(t, dir))
	reader, ok := r.Snapshot().Resource("sallyport://plugins")
	if !ok {
		t.Fatal("not there")
	}
	raw, err := reader.Read(t.Context(), Call{Params: json.RawMessage(`{"uri":"sallyport://plugins"}`)})
	if err != nil {
		t.Fatal(err)
	}
	contents, _ := rawjson.Elements(rawjson.Get(raw, "contents"))
	text, _ := rawjson.String(rawjson.Get(contents[0], "text"))
	want := `{"plugins":[{"name":"broken","file":"broken.wasm","state":"failed","error":"`
	if !strings.HasPrefix(text, want) || strings.Contains(text, dir) {
		t.Errorf("%s", text)
	}
}

func TestConfigure_WrongChangesNothing(t *testing.T) {
	r := open(t, Options{})
	addGo(t, r, "p", tools("t"))
	before := r.Snapshot()
	for _, bad := range []map[string]Config{{"a-b": {}}, {"sallyport": {}}, {"p": {Source: "https://example.com/x.wasm"}}} {
		if err := r.Configure(bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	if r.Snapshot() != before {
		t.Error("the catalogue is another")
	}
}

func TestClose_EndsEverything(t *testing.T) {
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
	if _, err := tool.Call(t.Context(), Call{}); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	if err := r.AddGo("q", []byte(`{}`), echo); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if err := r.Configure(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

// Whatever a manifest says, every public name is one that clients take.
func FuzzPublish(f *testing.F) {
	f.Add([]byte(tools("a", "b")))
	f.Add([]byte(everything))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := manifest.Parse(raw)
		if err != nil {
			return
		}
		g := &generation{plugin: &plugin{name: "p"}, manifest: m}
		g.publish()
		for _, x := range g.entries.Load().tools {
			if len(x.Name) > names.MaxPublic || strings.Trim(x.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
				t.Errorf("public name %q", x.Name)
			}
		}
	})
}
