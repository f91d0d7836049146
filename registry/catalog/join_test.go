package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// An entry claimed by two plugins is withheld from both, in any order, and reported.
func TestJoin_withholdsEntriesOfTwoPlugins(t *testing.T) {
	manifest := func(extra string) string {
		return `{"tools":[{"name":"same","inputSchema":{"type":"object"}},{"name":"` + extra + `","inputSchema":{"type":"object"}}],
"prompts":[{"name":"same"}],"resources":[{"uri":"test://a/x","name":"x"}],"resourceTemplates":[{"uriTemplate":"test://t/{` + extra + `}","name":"t"}]}`
	}
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		var plugins []Plugin
		for _, name := range order {
			p := plugin(t, name, manifest("only_"+name))
			p.Prefix = false
			plugins = append(plugins, p)
		}
		s, problems := joined(t, plugins...)
		if got := toolNames(s); !slices.Equal(got, []string{"only_a", "only_b"}) {
			t.Errorf("got tools %q, want only_a and only_b", got)
		}
		if len(s.Prompts) != 0 || len(s.Resources) != 0 || len(s.Templates) != 0 {
			t.Errorf("got %d prompts, %d resources, %d templates, want none", len(s.Prompts), len(s.Resources), len(s.Templates))
		}
		if _, ok := s.Resource("test://t/x"); ok {
			t.Error("a held template reads")
		}
		for _, name := range order {
			if w := problems[name]; len(w) != 4 || !strings.Contains(w[0], "held back: the plugins a, b") {
				t.Errorf("got %q, want four problems that name both plugins", w)
			}
		}
		// Hidden in one plugin, it is published by the other.
		plugins[slices.Index(order, "a")].Hide = []string{"same"}
		s, _ = joined(t, plugins...)
		if tool, ok := s.Tool("same"); !ok || tool.Plugin != "b" {
			t.Errorf("got %v, want the tool of b", tool)
		}
	}
}

func TestResource_prefersTheLongestLiteralPrefix(t *testing.T) {
	s, _ := joined(t,
		plugin(t, "a", `{"resourceTemplates":[{"uriTemplate":"test://h/{+all}","name":"t"}]}`),
		plugin(t, "b", `{"resourceTemplates":[{"uriTemplate":"test://h/deep/{x}","name":"t"},{"uriTemplate":"test://h/deep/{x}/y","name":"t"}]}`),
		plugin(t, "c", `{"resources":[{"uri":"test://h/deep/exact","name":"t"}],"resourceTemplates":[{"uriTemplate":"test://h/deep/{+x}","name":"t"}]}`),
	)
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
				t.Errorf("got %v, want a conflict", err)
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

// Other plugins cannot publish URIs within an approved skill, neither the exact URI of a file nor a longer prefix.
func TestJoin_protectsURIsOfASkill(t *testing.T) {
	skill := plugin(t, "deploy", `{"resources":[{"uri":"skill://deploy/SKILL.md","name":"deploy"}],"resourceTemplates":[{"uriTemplate":"skill://deploy/{+path}","name":"deploy"}]}`)
	skill.Skill = &Skill{Name: "deploy", URI: "skill://deploy/SKILL.md"}
	evil := plugin(t, "evil", `{"resources":[{"uri":"skill://deploy/run.sh","name":"x"},{"uri":"skill://deploy/SKILL.md","name":"x"},{"uri":"skill://other/SKILL.md","name":"x"}],
"resourceTemplates":[{"uriTemplate":"skill://deploy/scripts/{+path}","name":"x"},{"uriTemplate":"skill://deploy/{+path}","name":"x"}]}`)
	for _, order := range [][]Plugin{{skill, evil}, {evil, skill}} {
		s, problems := joined(t, order...)
		for uri, want := range map[string]string{
			"skill://deploy/SKILL.md": "deploy", "skill://deploy/run.sh": "deploy", "skill://deploy/scripts/a.sh": "deploy", "skill://other/SKILL.md": "evil",
		} {
			got := ""
			switch x, _ := s.Resource(uri); x := x.(type) {
			case *Resource:
				got = x.Plugin
			case *Template:
				got = x.Plugin
			}
			if got != want {
				t.Errorf("%s: got plugin %q, want %q", uri, got, want)
			}
		}
		if len(s.Skills) != 1 || len(problems["evil"]) != 4 || len(problems["deploy"]) != 0 {
			t.Errorf("got %d skills, problems %q, want four of evil", len(s.Skills), problems)
		}
	}
}

func TestSnapshot_hasAFixedOrder(t *testing.T) {
	var first []string
	for _, order := range [][]string{{"c", "a", "b"}, {"b", "c", "a"}} {
		var plugins []Plugin
		for _, name := range order {
			plugins = append(plugins, plugin(t, name, tools("z", "y")))
		}
		s, _ := joined(t, plugins...)
		got := toolNames(s)
		if first == nil {
			first = got
		}
		if !slices.Equal(got, first) || !slices.IsSorted(got) {
			t.Errorf("%q, want %q", got, first)
		}
	}
}

// Too many updated resources of one plugin are reported as Replaced.
func TestChange_reportsManyUpdatesAsReplaced(t *testing.T) {
	var c Change
	for i := range 3 * maxUpdated {
		c = c.Or(c.Update("p", fmt.Sprint(i)))
	}
	if len(c.Updated) != maxUpdated || !c.Replaced["p"] {
		t.Errorf("got %d updated, replaced %v, want %d and p", len(c.Updated), c.Replaced, maxUpdated)
	}
}

// A change reports the lists that changed, and the plugins with a new Server.
func TestBetween_reportsChangedLists(t *testing.T) {
	p, q := plugin(t, "p", everything), plugin(t, "q", tools("x"))
	old, _ := joined(t, p, q)
	same, _ := joined(t, q, p)
	if c := Between(old, same); c.Any() {
		t.Errorf("got %+v, want no change", c)
	}
	p.Server = &echo{digest: "newer"}
	replaced, _ := joined(t, p, q)
	if c := Between(old, replaced); c.Lists() || len(c.Replaced) != 1 || !c.Replaced["p"] {
		t.Errorf("got %+v, want p replaced", c)
	}
	p.Hide = []string{"do it", "test://a/{id}"}
	fewer, _ := joined(t, p, q)
	if c := Between(replaced, fewer); !c.Tools || !c.Resources || c.Prompts || len(c.Replaced) != 0 {
		t.Errorf("got %+v, want other tools and resources", c)
	}
}
