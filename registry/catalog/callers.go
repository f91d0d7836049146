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
			limited.rules = append(limited.rules, r.Who)
		}
	}
	return &limited
}

// Sees reports whether a caller sees an entry that is published to someone: the tool, prompt, resource or template with
// that local name, URI or text.
func (o *Offer) Sees(id identity.Identity, k manifest.Kind, entry string) bool {
	key := entryKey{k, entry}
	return o.published[key] && o.audiences[key].has(id)
}
