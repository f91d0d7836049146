package catalog

import (
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// CallerRule publishes entries of a plugin to some callers. A plugin with rules publishes nothing to others.
type CallerRule struct {
	Who identity.Who
	// Only holds the local names, URIs and templates that the rule publishes; empty is all.
	Only []string
	// Scopes are those that the caller needs for a call, besides being in Who. Entries are listed without them.
	Scopes []string
}

// Publishes reports whether the rule publishes an entry.
func (r *CallerRule) Publishes(id string) bool {
	return len(r.Only) == 0 || slices.Contains(r.Only, id)
}

// ruled limits an audience to the callers of the rules that publish an entry.
func (p *Plugin) ruled(a *audience, id string) *audience {
	if len(p.Callers) == 0 {
		return a
	}
	limited := audience{base: true, ruled: true}
	if a != nil {
		limited.base, limited.by = a.base, a.by
	}
	for i := range p.Callers {
		if r := &p.Callers[i]; r.Publishes(id) {
			limited.rules = append(limited.rules, *r)
		}
	}
	return &limited
}

// sees reports whether a caller sees an entry that is published to someone: the tool, prompt, resource or template with
// that local name, URI or text.
func (o *Offer) sees(id identity.Identity, k manifest.Kind, entry string) bool {
	key := entryKey{k, entry}
	return o.published[key] && o.audiences[key].has(id)
}

// Lacking returns the scopes that a caller needs for the entry of r, nil if it lacks none of them.
func (o *Offer) Lacking(id identity.Identity, r Request) []string {
	return o.audiences[entryKey{r.Kind, r.Entry}].lacking(id)
}

// Lacking returns the scopes that a caller which sees the tool needs for a call, nil if it lacks none of them.
func (t *Tool) Lacking(id identity.Identity) []string { return t.audience.lacking(id) }

// lacking returns all scopes of the rule under which a caller could call the entry, if it may not call it: of several, those
// of the rule with the fewest that it lacks. It is nil if the caller may call it.
func (a *audience) lacking(id identity.Identity) (needed []string) {
	if a == nil {
		return nil
	}
	fewest := -1
	for i := range a.rules {
		r := &a.rules[i]
		if !r.Who.Has(id) {
			continue
		}
		lacking := 0
		for _, s := range r.Scopes {
			if !slices.Contains(id.Scopes, s) {
				lacking++
			}
		}
		if lacking == 0 {
			return nil
		}
		if fewest < 0 || lacking < fewest {
			fewest, needed = lacking, r.Scopes
		}
	}
	return needed
}
