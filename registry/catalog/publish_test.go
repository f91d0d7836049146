package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// echo answers with a request's method and params.
type echo struct{ digest string }

var _ Server = (*echo)(nil)

func (*echo) Run(_ context.Context, _ Call, r Request) (Run, error) {
	o := jsonraw.Object{{Key: "method", Value: jsonraw.AppendString(nil, r.Method)}, {Key: "params", Value: r.Params}}
	return answered(o.Append(nil)), nil
}

// answered is a Run without effects.
type answered json.RawMessage

func (a answered) Answer() json.RawMessage  { return json.RawMessage(a) }
func (a answered) Commit(Verdict) error     { return nil }
func (a answered) Abort(reason error) error { return reason }

func (*echo) Keeps(string) bool                     { return false }
func (*echo) Limit(identity.Identity) (int, string) { return 0, "" }
func (e *echo) Digest() string                      { return e.digest }
func (e *echo) Terms() []byte                       { return nil }

// answerOf returns the answer of a run.
func answerOf(start func(context.Context, Call) (Run, error)) func(context.Context, Call) (json.RawMessage, error) {
	return func(ctx context.Context, c Call) (json.RawMessage, error) {
		run, err := start(ctx, c)
		if err != nil {
			return nil, err
		}
		return run.Answer(), nil
	}
}

// plugin returns a plugin that echoes, with this manifest and prefixed names.
func plugin(t testing.TB, name, raw string) Plugin {
	t.Helper()
	m, err := manifest.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return Plugin{Name: name, Manifest: m, Prefix: true, Server: &echo{digest: name}}
}

// joined returns the catalog of plugins, and the problems of each.
func joined(t testing.TB, plugins ...Plugin) (*Snapshot, map[string][]string) {
	t.Helper()
	problems := map[string][]string{}
	var offers []*Offer
	for _, p := range plugins {
		o := Publish(p)
		problems[p.Name] = o.Problems
		offers = append(offers, o)
	}
	s := Join(offers, func(plugin, problem string) { problems[plugin] = append(problems[plugin], problem) })
	return s, problems
}

// tools returns a manifest with tools of these names.
func tools(names ...string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, n)
	}
	return `{"tools":[` + strings.Join(list, ",") + `]}`
}

func toolNames(s *Snapshot) []string {
	var names []string
	for _, t := range s.Tools {
		names = append(names, t.Name)
	}
	return names
}

const everything = `{"tools":[{"name":"do it","inputSchema":{"type":"object"},"x":1}],
"prompts":[{"name":"ask"}],"resources":[{"uri":"test://a/fixed","name":"f"}],
"resourceTemplates":[{"uriTemplate":"test://a/{id}","name":"i"}]}`

func TestEntries_callWithLocalNames(t *testing.T) {
	s, _ := joined(t, plugin(t, "p", everything))
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
		"tool":     {answerOf(tool.Run), `{"_meta":{"a":1},"name":"p-do_it","arguments":{"x":1.50}}`, `{"method":"tools/call","params":{"_meta":{"a":1},"name":"do it","arguments":{"x":1.50}}}`},
		"prompt":   {answerOf(prompt.Get), `{"name":"p-ask"}`, `{"method":"prompts/get","params":{"name":"ask"}}`},
		"resource": {answerOf(fixed.Read), `{"uri":"test://a/fixed"}`, `{"method":"resources/read","params":{"uri":"test://a/fixed"}}`},
		"template": {answerOf(other.Read), `{"uri":"test://a/7"}`, `{"method":"resources/read","params":{"uri":"test://a/7"}}`},
		"complete": {answerOf(prompt.Complete), `{"ref":{"type":"ref/prompt","name":"p-ask"},"argument":{}}`,
			`{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"ask"},"argument":{}}}`},
		"variable": {answerOf(template.Complete), `{"ref":{"type":"ref/resource","uri":"test://a/{id}"}}`,
			`{"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"test://a/{id}"}}}`},
	} {
		got, err := c.call(t.Context(), Call{Params: json.RawMessage(c.in)})
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s %v, want %s", name, got, err, c.want)
		}
	}
}

// If two tools of one plugin get the same public name, the second is left out and reported.
func TestPublish_leavesOutTheSecondOfEqualNames(t *testing.T) {
	s, problems := joined(t, plugin(t, "p", tools("a b", "a_b", "a.b", "c")))
	if got := toolNames(s); !slices.Equal(got, []string{"p-a_b", "p-c"}) {
		t.Errorf("got tools %q, want p-a_b and p-c", got)
	}
	tool, _ := s.Tool("p-a_b")
	got, err := tool.Call(t.Context(), Call{})
	if err != nil || !strings.Contains(string(got), `"a b"`) {
		t.Errorf("got %s, %v, want the first tool", got, err)
	}
	if w := problems["p"]; len(w) != 2 || !strings.Contains(w[0], `"a_b" is left out`) {
		t.Errorf("got %q, want two problems", w)
	}
}

func TestPublish_onlySelectsEntries(t *testing.T) {
	p := plugin(t, "p", everything)
	p.Only = []string{"ask", "test://a/{id}"}
	s, _ := joined(t, p)
	if len(s.Tools) != 0 || len(s.Prompts) != 1 || len(s.Resources) != 0 || len(s.Templates) != 1 {
		t.Errorf("got %d tools, %d prompts, %d resources, %d templates, want 0, 1, 0, 1", len(s.Tools), len(s.Prompts), len(s.Resources), len(s.Templates))
	}
}

func TestPublish_requiresAGrantForFileURIs(t *testing.T) {
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
		p := plugin(t, "p", manifest)
		p.Grants = c.grants
		s, _ := joined(t, p)
		var resources, templates []string
		for _, x := range s.Resources {
			resources = append(resources, x.URI)
		}
		for _, x := range s.Templates {
			templates = append(templates, x.URITemplate)
		}
		if !slices.Equal(resources, c.resources) || !slices.Equal(templates, c.templates) {
			t.Errorf("%q %q, want %q %q", resources, templates, c.resources, c.templates)
		}
	}
}

func TestTool_compilesItsSchemas(t *testing.T) {
	s, _ := joined(t, plugin(t, "p", `{"tools":[{"name":"t","inputSchema":{"type":"object","required":["a"]},"outputSchema":{"type":"array"}},{"name":"u","inputSchema":{"type":"object"}}]}`))
	tool, _ := s.Tool("p-t")
	input, err := tool.Input()
	if err != nil || input.Validate([]byte(`{}`)) == nil || input.Validate([]byte(`{"a":1}`)) != nil {
		t.Errorf("got %v, want a schema that is enforced", err)
	}
	if again, _ := tool.Input(); again != input {
		t.Error("compiled twice")
	}
	if output, err := tool.Output(); err != nil || output.Validate([]byte(`[]`)) != nil {
		t.Errorf("got %v, want a schema that is enforced", err)
	}
	if output, err := s.Tools[1].Output(); output != nil || err != nil {
		t.Errorf("got %v, %v, want none", output, err)
	}
}

// Public names are valid for clients, for any manifest.
func FuzzPublish(f *testing.F) {
	f.Add([]byte(tools("a", "b")))
	f.Add([]byte(everything))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := manifest.Parse(raw)
		if err != nil {
			return
		}
		for _, x := range Publish(Plugin{Name: "p", Manifest: m, Prefix: true, Server: &echo{}}).tools {
			if len(x.Name) > manifest.MaxPublicName || strings.Trim(x.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
				t.Errorf("got public name %q, want a short one of letters, digits, _ and -", x.Name)
			}
		}
	})
}
