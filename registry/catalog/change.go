package catalog

import (
	"maps"
	"slices"
)

// maxUpdated limits the resources that one change names. Beyond it all of the plugin's resources are reported as
// updated, so that a plugin cannot fill memory with names.
const maxUpdated = 1024

// Change reports which lists changed, and which resources have new contents.
type Change struct {
	Tools, Prompts bool
	Resources      bool // the lists of resources and of templates

	// Updated holds the URIs of resources that their plugin reported as updated.
	Updated map[string]bool
	// Replaced holds the names of plugins with resources that may all have changed.
	Replaced map[string]bool
}

// Lists reports whether any list changed.
func (c Change) Lists() bool { return c.Tools || c.Prompts || c.Resources }

// Any reports whether anything changed.
func (c Change) Any() bool { return c.Lists() || len(c.Updated) > 0 || len(c.Replaced) > 0 }

// Or returns the union of two changes. It shares no memory with either.
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

// Update returns the change to add to the pending c when one resource of a plugin was updated.
func (c Change) Update(plugin, uri string) Change {
	switch {
	case c.Replaced[plugin]:
		return Change{}
	case len(c.Updated) >= maxUpdated && !c.Updated[uri]:
		return Change{Replaced: map[string]bool{plugin: true}}
	}
	return Change{Updated: map[string]bool{uri: true}}
}

// Between compares the entries that clients see of two snapshots. Replaced holds the plugins whose resources have a new
// Server.
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

// replaced returns the plugins whose resources have a new Server.
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
