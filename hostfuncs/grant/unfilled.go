package grant

import (
	"fmt"
	"slices"
	"strings"
)

// Unfilled is a line without effect in a call, because one of its bindings has no usable value.
type Unfilled struct {
	Family  Family
	Line    int    // of the line; 0 if it is in no file
	Binding string // in the notation of the line: {args.owner}
	Why     string // reason that the value is not usable, or that there is none
	Given   bool   // there is a value, which is not usable
	// Open is the line with wildcards for its bindings: the effects that it could allow.
	Open *Set
}

// Unfilled returns the lines that apply to a call but have an unfilled binding, so that a denial can name the missing
// value. Families other than net and fs are ignored.
func (l Lines) Unfilled(c Call) []Unfilled {
	var out []Unfilled
	for _, g := range l {
		open := g.bindings()
		if len(open) == 0 || g.Family != Net && g.Family != FS || !g.appliesTo(c) || len(c.fill(g)) > 0 {
			continue
		}
		for _, b := range open {
			if why, given := c.unfit(g, b); why != "" {
				out = append(out, Unfilled{Family: g.Family, Line: g.Line, Binding: b.String(), Why: why, Given: given, Open: NewSet(g.opened()...)})
				break
			}
		}
	}
	return out
}

// unfit returns the reason that no value of the call fills a binding, empty if one does. given reports whether there
// is a value.
func (c *Call) unfit(g Grant, b *binding) (why string, given bool) {
	var values []string
	if c.Values != nil {
		values = c.Values(b.path)
	}
	if len(values) == 0 {
		return fmt.Sprintf("the call has no argument %q that is text, a whole number, true or false", strings.Join(b.path, ".")), false
	}
	for _, v := range values {
		if _, ok := c.replace(g, b, v); ok {
			return "", true
		}
	}
	return b.wrong(values[0]), true
}

// maxShownValue is the maximum length of a value in a denial.
const maxShownValue = 40

// wrong returns the reason that a value does not fill the binding.
func (b *binding) wrong(v string) string {
	shown := fmt.Sprintf("%.*q", maxShownValue, v)
	dots := slices.ContainsFunc(strings.Split(v, "/"), func(s string) bool { return s == "." || s == ".." })
	switch {
	case v == "":
		return "the value is empty"
	case strings.ContainsFunc(v, unprintable):
		return "the value holds a character that cannot be seen"
	case b.form == wholeURL:
		return shown + " is no address that can be asked for"
	case b.form == hostName:
		return shown + " is no host name"
	case dots:
		return shown + " holds a . or .. step"
	case b.form == subPath && strings.HasPrefix(v, "/"):
		return shown + " does not begin with the folder before it"
	case b.form == subPath:
		return shown + " has an empty step"
	case strings.ContainsAny(v, separators) || strings.ContainsFunc(v, looksLikeSeparator):
		return shown + " is more than one step"
	}
	return shown + " cannot stand there"
}

// opened returns the lines with wildcards for their bindings.
func (g Grant) opened() (all []Grant) {
	for _, r := range g.rule.(placed).opened() {
		g.rule = r
		all = append(all, g)
	}
	return all
}

func (r *fsRule) opened() []rule {
	out := *r
	out.path = r.path.opened()
	out.folded = out.path.fold()
	return []rule{&out}
}

func (r *netRule) opened() []rule {
	out := *r
	out.host, out.path = r.host.opened(), r.path.opened()
	out.query = slices.Clone(r.query)
	for i, p := range out.query {
		if p.bind != nil {
			out.query[i] = param{key: p.key}
		}
	}
	if r.url == nil {
		return []rule{&out}
	}
	var all []rule
	for scheme, port := range map[string]string{"https": "443", "http": "80"} {
		web := out
		web.url, web.scheme, web.port, web.host, web.path = nil, scheme, port, pattern{{any: true}}, pattern{{any: true}}
		all = append(all, &web)
	}
	return all
}

func (p pattern) opened() pattern {
	out := slices.Clone(p)
	for i, s := range out {
		switch {
		case s.bind == nil:
		case s.bind.form == oneStep:
			out[i] = segment{glob: glob{"", ""}}
		default:
			out[i] = segment{any: true}
		}
	}
	return out
}
