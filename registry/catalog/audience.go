package catalog

import (
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/identity"
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

// maxViews limits the views that a Snapshot keeps. Callers with further combinations of rules get views of their own.
const maxViews = 1024

// audience is the set of callers that see an entry, where not all do. Nil is everyone.
type audience struct {
	base  bool            // for principals not in by
	by    map[string]bool // principals
	ruled bool            // only callers in rules see it
	rules []CallerRule
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

func (a *audience) has(id identity.Identity) bool {
	if a == nil {
		return true
	}
	if a.ruled && !slices.ContainsFunc(a.rules, func(r CallerRule) bool { return r.Who.Has(id) }) {
		return false
	}
	if shown, ok := a.by[id.Principal]; ok {
		return shown
	}
	return a.base
}

// same reports whether two audiences see and call an entry alike.
func (a *audience) same(b *audience) bool {
	if a == nil || b == nil {
		return a == b
	}
	sameWho := func(r, s CallerRule) bool {
		return r.Who.String() == s.Who.String() && slices.Equal(r.Scopes, s.Scopes)
	}
	return a.base == b.base && a.ruled == b.ruled && maps.Equal(a.by, b.by) && slices.EqualFunc(a.rules, b.rules, sameWho)
}

// For returns the catalog that one caller sees, without the entries shown to others only.
func (s *Snapshot) For(id identity.Identity) *Snapshot {
	if len(s.callers) == 0 && len(s.rules) == 0 {
		return s
	}
	key := s.class(id)
	if known, ok := s.views.Load(key); ok {
		return known.(*Snapshot)
	}
	own := &Snapshot{Generation: s.Generation,
		Tools:     seen(s.Tools, func(t *Tool) *audience { return t.audience }, id),
		Prompts:   seen(s.Prompts, func(p *Prompt) *audience { return p.audience }, id),
		Resources: seen(s.Resources, func(r *Resource) *audience { return r.audience }, id),
		Templates: seen(s.Templates, func(t *Template) *audience { return t.audience }, id),
	}
	own.index()
	own.Skills = slices.DeleteFunc(slices.Clone(s.Skills), func(skill *Skill) bool { return own.resources[skill.URI] == nil })
	if s.kept.Add(1) > maxViews {
		return own
	}
	known, _ := s.views.LoadOrStore(key, own)
	return known.(*Snapshot)
}

// class returns a key that is equal for callers that see the same entries: a byte for each rule, and the principal if a
// plugin chose entries for it.
func (s *Snapshot) class(id identity.Identity) string {
	key := make([]byte, len(s.rules), len(s.rules)+len(id.Principal)+1)
	for i, who := range s.rules {
		key[i] = '-'
		if who.Has(id) {
			key[i] = '+'
		}
	}
	if s.callers[id.Principal] {
		key = append(append(key, '='), id.Principal...)
	}
	return string(key)
}

func seen[T any](all []T, of func(T) *audience, id identity.Identity) []T {
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool { return !of(x).has(id) })
}

// divide collects the principals with an audience of their own in s.callers, and of the rules the callers in s.rules and
// the scopes in s.scopes.
func (s *Snapshot) divide() {
	d := divider{snapshot: s, known: map[string]bool{}}
	for _, t := range s.Tools {
		d.add(t.audience)
	}
	for _, p := range s.Prompts {
		d.add(p.audience)
	}
	for _, r := range s.Resources {
		d.add(r.audience)
	}
	for _, t := range s.Templates {
		d.add(t.audience)
	}
	slices.Sort(s.scopes)
	s.scopes = slices.Compact(s.scopes)
}

// divider collects the audiences of a snapshot.
type divider struct {
	snapshot *Snapshot
	known    map[string]bool // rules
}

func (d *divider) add(a *audience) {
	s := d.snapshot
	if a == nil {
		return
	}
	if s.callers == nil {
		s.callers = map[string]bool{}
	}
	for principal := range a.by {
		s.callers[principal] = true
	}
	if a.ruled && len(a.rules) == 0 {
		a = &audience{rules: []CallerRule{{}}} // no caller sees the entry
	}
	for _, r := range a.rules {
		if text := r.Who.String(); !d.known[text] {
			d.known[text] = true
			s.rules = append(s.rules, r.Who)
		}
		s.scopes = append(append(s.scopes, r.Who.Scopes()...), r.Scopes...)
	}
}
