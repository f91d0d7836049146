package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Join merges the offers of all plugins into a Snapshot; the caller sets its Generation. An entry claimed by two
// plugins is withheld from both and reported to tell. URIs below a skill belong to that skill only.
func Join(offers []*Offer, tell func(plugin, problem string)) *Snapshot {
	var tools []*Tool
	var prompts []*Prompt
	var resources []*Resource
	var templates []*Template
	for _, o := range offers {
		tools = append(tools, o.tools...)
		prompts = append(prompts, o.prompts...)
		resources = append(resources, o.resources...)
		templates = append(templates, o.templates...)
	}
	own := placesOf(offers)
	resources = slices.DeleteFunc(resources, func(r *Resource) bool { return own.takes(manifest.Resource, r.URI, r.URI, r.Plugin, tell) })
	templates = slices.DeleteFunc(templates, func(t *Template) bool {
		return own.takes(manifest.Template, t.URITemplate, t.pattern.Prefix(), t.Plugin, tell)
	})
	s := &Snapshot{}
	s.Tools = unique(tools, claim[*Tool]{
		manifest.Tool, func(t *Tool) string { return t.Name }, func(t *Tool) string { return t.Plugin }, tell})
	s.Prompts = unique(prompts, claim[*Prompt]{
		manifest.Prompt, func(p *Prompt) string { return p.Name }, func(p *Prompt) string { return p.Plugin }, tell})
	s.Resources = unique(resources, claim[*Resource]{
		manifest.Resource, func(r *Resource) string { return r.URI }, func(r *Resource) string { return r.Plugin }, tell})
	s.Templates = unique(templates, claim[*Template]{
		manifest.Template, func(t *Template) string { return t.pattern.Shape() }, func(t *Template) string { return t.Plugin }, tell})
	s.index()
	s.divide()
	s.Skills = skillsOf(s.Resources, offers)
	return s
}

// places maps the folders of skills, skill://NAME/, to the plugins that are these skills.
type places map[string][]string

func placesOf(offers []*Offer) places {
	own := places{}
	for _, o := range offers {
		if o.skill != nil {
			root := strings.TrimSuffix(o.skill.URI, document.SkillEntry)
			own[root] = append(own[root], o.owner)
		}
	}
	return own
}

// takes reports whether an entry of a different plugin lies within a skill, where it could be read in place of the
// skill's own files. begins is its literal prefix.
func (p places) takes(k manifest.Kind, name, begins, plugin string, tell func(plugin, problem string)) bool {
	for root, owners := range p {
		if strings.HasPrefix(strings.ToLower(begins), root) && !slices.Contains(owners, plugin) {
			tell(plugin, fmt.Sprintf("%s %s is held back: it lies within the skill of the plugin %s", k, name, owners[0]))
			return true
		}
	}
	return false
}

// claim describes how entries of one kind claim a name.
type claim[T any] struct {
	kind   manifest.Kind
	name   func(T) string
	plugin func(T) string
	tell   func(plugin, problem string)
}

// unique returns the entries with a name that only one plugin claims, sorted by name.
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
			plugins[c.plugin(x)] = true
		}
		if len(plugins) == 1 {
			kept = append(kept, group...)
			continue
		}
		who := strings.Join(slices.Sorted(maps.Keys(plugins)), ", ")
		for _, x := range group {
			c.tell(c.plugin(x), fmt.Sprintf("%s %s is held back: the plugins %s all claim it; hide it in all but one", c.kind, name, who))
		}
	}
	return kept
}

// index builds the lookup maps and the order in which templates match.
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

// skillsOf returns the skills with a published SKILL.md, in the order of the resources.
func skillsOf(resources []*Resource, offers []*Offer) (list []*Skill) {
	skills := map[Server]*Skill{}
	for _, o := range offers {
		if o.skill != nil {
			skills[o.server] = o.skill
		}
	}
	for _, r := range resources {
		if skill := skills[r.server]; skill != nil && skill.URI == r.URI {
			list = append(list, skill)
		}
	}
	return list
}
