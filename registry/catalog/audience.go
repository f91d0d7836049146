package catalog

import (
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// maxCallers limits the callers for which a plugin may choose its visible entries. Further callers see the manifest's.
const maxCallers = 1024

// Choices records the entries that a plugin shows to each of its callers. A choice made in a call applies to that
// call's principal only. It is immutable; nil holds no choice.
type Choices struct{ by map[string]*Choice }

// After returns the choices with a list_changed notification from a call of principal applied.
func (c *Choices) After(principal string, n ListChanged, m *manifest.Manifest) *Choices {
	next := &Choices{by: map[string]*Choice{}}
	if c != nil {
		maps.Copy(next.by, c.by)
	}
	before, known := next.by[principal]
	if !known && len(next.by) >= maxCallers {
		return c
	}
	next.by[principal] = before.After(n, m)
	return next
}

// audience is the set of principals that see an entry, where not all do. Nil is everyone.
type audience struct {
	base bool            // for principals not in by
	by   map[string]bool // principals
}

// audience returns the audience of an entry; false if no caller sees it.
func (c *Choices) audience(k manifest.Kind, id string, base bool) (*audience, bool) {
	if c == nil {
		return nil, base
	}
	a := &audience{base: base, by: map[string]bool{}}
	for principal, choice := range c.by {
		if shown, ok := choice.has(k, id); ok && shown != base {
			a.by[principal] = shown
		}
	}
	if len(a.by) == 0 {
		return nil, base
	}
	return a, true
}

func (a *audience) has(principal string) bool {
	if a == nil {
		return true
	}
	if shown, ok := a.by[principal]; ok {
		return shown
	}
	return a.base
}

// same reports whether two audiences are equal.
func (a *audience) same(b *audience) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.base == b.base && maps.Equal(a.by, b.by)
}

// others is the key in For of all principals without a choice.
const others = "\x00"

// For returns the catalog that one principal sees, without the entries shown to other principals only.
func (s *Snapshot) For(principal string) *Snapshot {
	if len(s.callers) == 0 {
		return s
	}
	if !s.callers[principal] {
		principal = others
	}
	if known, ok := s.views.Load(principal); ok {
		return known.(*Snapshot)
	}
	own := &Snapshot{Generation: s.Generation, Skills: s.Skills,
		Tools:     seen(s.Tools, func(t *Tool) *audience { return t.audience }, principal),
		Prompts:   seen(s.Prompts, func(p *Prompt) *audience { return p.audience }, principal),
		Resources: seen(s.Resources, func(r *Resource) *audience { return r.audience }, principal),
		Templates: seen(s.Templates, func(t *Template) *audience { return t.audience }, principal),
	}
	own.index()
	known, _ := s.views.LoadOrStore(principal, own)
	return known.(*Snapshot)
}

func seen[T any](all []T, of func(T) *audience, principal string) []T {
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool { return !of(x).has(principal) })
}

// divide collects the principals with an audience of their own in s.callers.
func (s *Snapshot) divide() {
	note := func(a *audience) {
		if a == nil {
			return
		}
		if s.callers == nil {
			s.callers = map[string]bool{others: true}
		}
		for principal := range a.by {
			s.callers[principal] = true
		}
	}
	for _, t := range s.Tools {
		note(t.audience)
	}
	for _, p := range s.Prompts {
		note(p.audience)
	}
	for _, r := range s.Resources {
		note(r.audience)
	}
	for _, t := range s.Templates {
		note(t.audience)
	}
}
