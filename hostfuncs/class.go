package hostfuncs

import (
	"cmp"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/identity"
)

// Class is a set of callers with limits of their own.
type Class struct {
	Who identity.Who
	// Limits are those of the callers. A zero field is that of the plugin; Rate is that of the callers together, within
	// the plugin's.
	Limits Limits
}

// Class returns the number of the first class that a caller is in, from 1; 0 is none.
func (p *Policy) Class(caller identity.Identity) int {
	return 1 + slices.IndexFunc(p.plugin.Classes, func(c Class) bool { return c.Who.Has(caller) })
}

// classLimits are the limits of the calls of one class.
type classLimits struct {
	Limits
	own Limits // those that the class sets
}

// limitsOf returns the limits of class 0, to which all other callers belong, and of each class.
func limitsOf(all Limits, classes []Class) []classLimits {
	list := []classLimits{{Limits: all}}
	for _, c := range classes {
		own := c.Limits
		list = append(list, classLimits{own: own, Limits: Limits{
			Rate:           own.Rate,
			PrincipalRate:  cmp.Or(own.PrincipalRate, all.PrincipalRate),
			PrincipalCalls: cmp.Or(own.PrincipalCalls, all.PrincipalCalls),
			Sent:           cmp.Or(own.Sent, all.Sent),
			Received:       cmp.Or(own.Received, all.Received),
		}})
	}
	return list
}
