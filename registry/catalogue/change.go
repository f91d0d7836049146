package catalogue

import (
	"maps"
	"slices"
)

// maxUpdated bounds the resources that one change names; beyond it all of the plugin's are said to be
// updated, so that a plugin cannot fill the memory with names.
const maxUpdated = 1024

// Change says which lists are others than before, and which resources hold something else.
type Change struct {
	Tools, Prompts bool
	Resources      bool // the lists of resources and of templates

	// Updated are URIs of resources whose plugin says that they hold something else now.
	Updated map[string]bool
	// Replaced are plugins, by name, all of whose resources may hold something else.
	Replaced map[string]bool
}

// Lists reports whether any list is another.
func (c Change) Lists() bool { return c.Tools || c.Prompts || c.Resources }

// Any reports whether there is anything to tell.
func (c Change) Any() bool { return c.Lists() || len(c.Updated) > 0 || len(c.Replaced) > 0 }

// Or joins two changes. It shares nothing with either.
func (c Change) Or(d Change) Change {
	return Change{
		Tools: c.Tools || d.Tools, Prompts: c.Prompts || d.Prompts, Resources: c.Resources || d.Resources,
		Updated: union(c.Updated, d.Updated), Replaced: union(c.Replaced, d.Replaced),
	}
}

func union(a, b map[string]bool) map[string]bool {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	all := make(map[string]bool, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// Update is the change of one resource of a plugin, next to c, which is to be told already.
func (c Change) Update(plugin, uri string) Change {
	switch {
	case c.Replaced[plugin]:
		return Change{}
	case len(c.Updated) >= maxUpdated && !c.Updated[uri]:
		return Change{Replaced: map[string]bool{plugin: true}}
	}
	return Change{Updated: map[string]bool{uri: true}}
}

// Between compares what clients see of two snapshots. A plugin is Replaced whose resources another server answers for.
func Between(old, next *Snapshot) Change {
	return Change{
		Tools: !slices.EqualFunc(old.Tools, next.Tools, func(x, y *Tool) bool {
			return x.Name == y.Name && string(x.Definition) == string(y.Definition) && x.audience.same(y.audience)
		}),
		Prompts: !slices.EqualFunc(old.Prompts, next.Prompts, func(x, y *Prompt) bool {
			return x.Name == y.Name && string(x.Definition) == string(y.Definition) && x.audience.same(y.audience)
		}),
		Resources: !slices.EqualFunc(old.Resources, next.Resources, func(x, y *Resource) bool {
			return x.URI == y.URI && string(x.Definition) == string(y.Definition) && x.audience.same(y.audience)
		}) || !slices.EqualFunc(old.Templates, next.Templates, func(x, y *Template) bool {
			return x.URITemplate == y.URITemplate && string(x.Definition) == string(y.Definition) && x.audience.same(y.audience)
		}),
		Replaced: replaced(old, next),
	}
}

// replaced finds the plugins whose resources another server answers for than before.
func replaced(old, next *Snapshot) map[string]bool {
	found := map[string]bool{}
	for uri, r := range next.resources {
		if before := old.resources[uri]; before != nil && before.server != r.server {
			found[r.Plugin] = true
		}
	}
	for text, t := range next.templates {
		if before := old.templates[text]; before != nil && before.server != t.server {
			found[t.Plugin] = true
		}
	}
	return found
}
