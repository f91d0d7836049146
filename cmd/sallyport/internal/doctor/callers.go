package doctor

import (
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/identity"
)

// callers reports rules, limits and quotas with a group or a scope that no caller can have: without a sign-in, groups are
// those of the file alone, and nobody has a scope.
func (s Subject) callers(r *Report) {
	if s.Settings.Auth != nil {
		return
	}
	for _, p := range s.Settings.Plugins {
		for _, rule := range p.Callers {
			s.nobody(r, "plugins."+p.Name+".callers", rule.Callers)
		}
		for _, limits := range p.LimitsFor {
			s.nobody(r, "plugins."+p.Name+".limits.for", limits.Callers)
		}
	}
	for _, q := range s.Settings.Quotas {
		s.nobody(r, "quotas", q.Who)
	}
}

// nobody reports the groups and scopes of one list of callers that nobody has.
func (s Subject) nobody(r *Report, topic string, who identity.Who) {
	for _, group := range who.Groups() {
		if !slices.Contains(s.Settings.Groups, group) {
			r.add(Warning, topic, "it names group:%s, which nobody is in: it is not in groups, and there is no sign-in (auth)", group)
		}
	}
	for _, scope := range who.Scopes() {
		r.add(Warning, topic, "it names scope:%s, which nobody has: there is no sign-in (auth)", scope)
	}
}
