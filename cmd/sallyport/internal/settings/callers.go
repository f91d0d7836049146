package settings

import (
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/transport/auth/oauth"
)

// groupsKey is the section with the groups of principals.
const groupsKey = "groups"

// maxRules limits the rules of a plugin: each caller is compared with all of them.
const maxRules = 256

// CallerRule publishes entries of a plugin to some callers.
type CallerRule struct {
	Line    int
	Who     []string     // as written
	Callers identity.Who // of Who, with the principals that the file puts into its groups
	Publish []string     // local names, URIs and templates; nil is all that the plugin publishes
	Scopes  []string     // those of a sign-in that a call needs, sorted, each once; nil is none
}

// groups are the principals of each group in the file.
type groups map[string][]string

// readGroups reads the section groups; nil if absent.
func readGroups(root *strictyaml.Node) (groups, error) {
	if root == nil {
		return nil, nil
	}
	key, section := root.Member(groupsKey)
	if key == nil {
		return nil, nil
	}
	all := groups{}
	err := section.Each(groupsKey, func(name, value *strictyaml.Node) error {
		if _, err := identity.ParseWho([]string{"group:" + name.Text}); err != nil {
			return name.Errorf("groups: %v", err)
		}
		members, err := value.Texts("groups." + name.Text)
		if err != nil {
			return err
		}
		for _, member := range members {
			if _, err := identity.New(member, nil, nil); err != nil || member == "all" {
				return value.Errorf("groups.%s: %.64q is no principal: write one such as token:ann", name.Text, member)
			}
		}
		if _, err := identity.ParseWho(members); err != nil {
			return value.Errorf("groups.%s: %v", name.Text, err)
		}
		all[name.Text] = members
		return nil
	})
	return all, err
}

// who returns the callers with one of names.
func (g groups) who(names []string) (identity.Who, error) {
	var all []string
	for _, name := range names {
		all = append(all, name)
		if group, is := strings.CutPrefix(name, "group:"); is {
			all = append(all, g[group]...)
		}
	}
	return identity.ParseWho(all)
}

// readCallers reads the rules of a plugin.
func (p *Plugin) readCallers(n *strictyaml.Node, known groups) error {
	name := p.Name + ".callers"
	if n.Kind != strictyaml.Sequence || len(n.Items) == 0 || len(n.Items) > maxRules {
		return n.Errorf("%s: want a list of 1 to %d rules, such as - who: [group:ops]", name, maxRules)
	}
	for _, item := range n.Items {
		r, err := readRule(item, name, known)
		if err != nil {
			return err
		}
		p.Callers = append(p.Callers, r)
	}
	return nil
}

func readRule(n *strictyaml.Node, name string, known groups) (CallerRule, error) {
	r := CallerRule{Line: n.Line}
	err := n.Each(name, func(k, v *strictyaml.Node) (err error) {
		switch k.Text {
		case "who":
			r.Who, err = v.Texts(name + ".who")
		case "publish":
			if r.Publish, err = v.Texts(name + ".publish"); err == nil && len(r.Publish) == 0 {
				err = v.Errorf("%s.publish is empty: leave it out for everything, or the rule for nothing", name)
			}
		case "scopes":
			r.Scopes, err = readScopes(v, name+".scopes")
		default:
			err = k.Errorf("unknown key %q in %s%s", k.Text, name, strictyaml.Hint(k.Text, []string{"who", "publish", "scopes"}))
		}
		return err
	})
	if err != nil {
		return r, err
	}
	if r.Callers, err = known.who(r.Who); err != nil {
		return r, n.Errorf("%s.who: %v", name, err)
	}
	return r, nil
}

// maxScopes limits the scopes of a rule: a challenge names them all in one header.
const maxScopes = 32

func readScopes(n *strictyaml.Node, name string) ([]string, error) {
	scopes, err := n.Texts(name)
	if err != nil {
		return nil, err
	}
	if len(scopes) == 0 || len(scopes) > maxScopes {
		return nil, n.Errorf("%s: want 1 to %d scopes", name, maxScopes)
	}
	for _, s := range scopes {
		if _, err := identity.ParseWho([]string{"scope:" + s}); err != nil || !oauth.IsScope(s) {
			return nil, n.Errorf("%s: %.64q is no scope: it has 1 to 256 visible characters of ASCII but quotes and backslashes", name, s)
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

// Refusal returns the reason for which the rule does not let a caller call an entry, by its local name, URI or template; "" if
// it does.
func (r *CallerRule) Refusal(id identity.Identity, entry string) string {
	rule := r.Rule()
	lacking := slices.DeleteFunc(slices.Clone(r.Scopes), func(s string) bool { return slices.Contains(id.Scopes, s) })
	switch {
	case !r.Callers.Has(id):
		return "does not name the caller"
	case !rule.Publishes(entry):
		return "does not publish " + entry
	case len(lacking) > 0:
		return "lacks " + catalog.ScopeNames(lacking)
	}
	return ""
}

// Rule returns the rule for the registry.
func (r *CallerRule) Rule() catalog.CallerRule {
	return catalog.CallerRule{Who: r.Callers, Only: r.Publish, Scopes: r.Scopes}
}

// String returns the rule on one line.
func (r *CallerRule) String() string {
	text := "who: [" + strings.Join(r.Who, ", ") + "]"
	if r.Publish != nil {
		text += ", publish: [" + strings.Join(r.Publish, ", ") + "]"
	}
	if r.Scopes != nil {
		text += ", scopes: [" + strings.Join(r.Scopes, ", ") + "]"
	}
	return text
}
