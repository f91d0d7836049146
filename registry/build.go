package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// buildSnapshot joins what the generations publish. An entry whose name two plugins claim is held
// back for both, and tell hears of it.
func buildSnapshot(serving []*generation, tell func(g *generation, problem string)) *Snapshot {
	var tools []*Tool
	var prompts []*Prompt
	var resources []*Resource
	var templates []*Template
	for _, g := range serving {
		e := g.entries.Load()
		tools = append(tools, e.tools...)
		prompts = append(prompts, e.prompts...)
		resources = append(resources, e.resources...)
		templates = append(templates, e.templates...)
	}
	s := &Snapshot{}
	s.Tools = unique(tools, claim[*Tool]{
		manifest.Tool, func(t *Tool) string { return t.Name }, func(t *Tool) *generation { return t.from }, tell})
	s.Prompts = unique(prompts, claim[*Prompt]{
		manifest.Prompt, func(p *Prompt) string { return p.Name }, func(p *Prompt) *generation { return p.from }, tell})
	s.Resources = unique(resources, claim[*Resource]{
		manifest.Resource, func(r *Resource) string { return r.URI }, func(r *Resource) *generation { return r.from }, tell})
	s.Templates = unique(templates, claim[*Template]{
		manifest.Template, func(t *Template) string { return t.pattern.Shape() }, func(t *Template) *generation { return t.from }, tell})
	s.index()
	s.Skills = skillsOf(s.Resources)
	return s
}

// claim says how to tell whether two entries of a kind claim the same name.
type claim[T any] struct {
	kind manifest.Kind
	name func(T) string
	from func(T) *generation
	tell func(*generation, string)
}

// unique returns the entries whose name one plugin claims, sorted by name.
func unique[T any](all []T, c claim[T]) []T {
	groups := map[string][]T{}
	for _, x := range all {
		groups[c.name(x)] = append(groups[c.name(x)], x)
	}
	kept := make([]T, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		group := groups[name]
		plugins := map[string]bool{}
		for _, x := range group {
			plugins[c.from(x).plugin.name] = true
		}
		if len(plugins) == 1 {
			kept = append(kept, group...)
			continue
		}
		who := strings.Join(slices.Sorted(maps.Keys(plugins)), ", ")
		for _, x := range group {
			c.tell(c.from(x), fmt.Sprintf("%s %s is held back: the plugins %s all claim it; hide it in all but one", c.kind, name, who))
		}
	}
	return kept
}

// index makes the look-ups and the order of matching.
func (s *Snapshot) index() {
	s.tools = make(map[string]*Tool, len(s.Tools))
	for _, t := range s.Tools {
		s.tools[t.Name] = t
	}
	s.prompts = make(map[string]*Prompt, len(s.Prompts))
	for _, p := range s.Prompts {
		s.prompts[p.Name] = p
	}
	s.resources = make(map[string]*Resource, len(s.Resources))
	for _, r := range s.Resources {
		s.resources[r.URI] = r
	}
	slices.SortFunc(s.Templates, func(a, b *Template) int { return cmp.Compare(a.URITemplate, b.URITemplate) })
	s.templates = make(map[string]*Template, len(s.Templates))
	for _, t := range s.Templates {
		s.templates[t.URITemplate] = t
	}
	s.matching = slices.Clone(s.Templates)
	slices.SortStableFunc(s.matching, func(a, b *Template) int {
		return cmp.Compare(len(b.pattern.Prefix()), len(a.pattern.Prefix()))
	})
}
