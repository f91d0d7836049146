package grant

import "strings"

// nameForms are the notations of DefineNames. They do not change after package initialization.
var nameForms []lineForm

// DefineNames adds a family whose lines name the target of an effect, or all targets with *: "bell: lobby". It is for
// the package that performs the effects, which calls it before any line is parsed, in its initialization.
func DefineNames(f Family, example string) {
	form := lineForm{family: f, example: example, options: map[string]lineOption{"for": forOption(), "ask": askOption()}}
	form.parse = func(n Node) (rule, error) {
		if err := form.oneText(n); err != nil {
			return nil, err
		}
		if n.Value != anyName && !isName(n.Value) {
			return nil, failf(n.Line, "%s takes a name or *, such as %q", f, example)
		}
		return nameRule(n.Value), nil
	}
	nameForms = append(nameForms, form)
}

// anyName stands for all targets of a family.
const anyName = "*"

// nameRule is the value of a line that names a target.
type nameRule string

func (r nameRule) value() string { return string(r) }

func (r nameRule) covers(name string) bool { return r == anyName || string(r) == name }

// isName reports whether a line can name a target: by letters, digits and a few signs.
func isName(s string) bool {
	return s != "" && len(s) <= maxSegments &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// Name decides on an effect on a target of a family of DefineNames.
func (s *Set) Name(f Family, target string) Decision {
	d := s.decide(f, func(g *Grant) bool {
		r, ok := g.rule.(nameRule)
		return ok && r.covers(target)
	})
	if d.Grant == nil && !d.Beyond && isName(target) {
		d.Suggest = Quote(Grant{Family: f, rule: nameRule(target)}.String())
	}
	return d
}
