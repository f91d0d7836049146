package settings

import (
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// CallerLimits are the limits of some callers of a plugin. The first of a plugin's that names a caller counts.
type CallerLimits struct {
	Line    int
	Who     []string     // as written
	Callers identity.Who // of Who, with the principals that the file puts into its groups
	Limits  Limits       // zero fields are those of the plugin

	written []string // such as deadline: 5s
}

// readCallerLimits reads limits.for:
//
//	for:
//	  - who: [group:interns]
//	    deadline: 5s
func (p *Plugin) readCallerLimits(n *strictyaml.Node, known groups) error {
	name := p.Name + ".limits.for"
	if n.Kind != strictyaml.Sequence || len(n.Items) == 0 || len(n.Items) > maxRules {
		return n.Errorf("%s: want a list of 1 to %d, such as - {who: [group:interns], deadline: 5s}", name, maxRules)
	}
	for _, item := range n.Items {
		c := CallerLimits{Line: item.Line}
		if err := c.read(item, name, known); err != nil {
			return err
		}
		for _, other := range p.LimitsFor {
			for _, who := range c.Who {
				if other.Callers.Includes(who) {
					return item.Errorf("%s: %s has the limits of line %d already, of which the first count: leave it out, or write it above", name, who, other.Line)
				}
			}
		}
		p.LimitsFor = append(p.LimitsFor, c)
	}
	return nil
}

func (c *CallerLimits) read(n *strictyaml.Node, name string, known groups) error {
	err := n.Each(name, func(k, v *strictyaml.Node) (err error) {
		switch k.Text {
		case "who":
			c.Who, err = v.Texts(name + ".who")
			return err
		case "for":
			return k.Errorf("unknown key %q in %s", k.Text, name)
		}
		err = c.Limits.set(k, v, name, "who")
		c.written = append(c.written, k.Text+": "+v.Text)
		return err
	})
	if err != nil {
		return err
	}
	if c.Callers, err = known.who(c.Who); err != nil {
		return n.Errorf("%s.who: %v", name, err)
	}
	if len(c.written) == 0 {
		return n.Errorf("%s: no limit is set: write such as deadline: 5s beside who", name)
	}
	return nil
}

// LimitsOf returns the limits that count for a caller in place of the plugin's; nil if there are none.
func (p *Plugin) LimitsOf(caller identity.Identity) *CallerLimits {
	i := slices.IndexFunc(p.LimitsFor, func(c CallerLimits) bool { return c.Callers.Has(caller) })
	if i < 0 {
		return nil
	}
	return &p.LimitsFor[i]
}

// String returns the limits on one line.
func (c *CallerLimits) String() string {
	return "who: [" + strings.Join(c.Who, ", ") + "], " + strings.Join(c.written, ", ")
}
