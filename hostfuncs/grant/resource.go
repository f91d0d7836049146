package grant

import (
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// resourceRule is one pattern of a resources line.
type resourceRule struct {
	plugin string // that publishes the resource
	scheme string
	// steps are the segments of the URI behind the colon of the scheme, which are compared as written: a URI has the
	// reading that its plugin gives it.
	steps pattern
}

func resourcesForm() lineForm {
	return lineForm{
		family: Resources, example: "resources: {notes: \"memo://notes/{args.id}\"}", structured: true, deniable: true,
		parse: func(n Node) (rule, error) {
			rules, err := parseResources(n)
			return &resourceList{rules}, err
		},
		options: map[string]lineOption{"for": forOption()},
	}
}

// resourceList is the value of a resources line.
type resourceList struct{ rules []resourceRule }

// parseResources reads {plugin: pattern} and {plugin: [pattern, …]}.
func parseResources(n Node) (rules []resourceRule, err error) {
	usage := failf(n.Line, "resources takes the URIs of a plugin: write such as %q", example(Resources))
	if n.Kind != Map || len(n.Nodes) == 0 {
		return nil, usage
	}
	for _, m := range n.Nodes {
		uris := []Node{m}
		if m.Kind == List {
			uris = m.Nodes
		}
		if !isToolName(m.Key) || m.Kind == Map || len(uris) == 0 {
			return nil, usage
		}
		for _, u := range uris {
			if u.Kind != Scalar {
				return nil, usage
			}
			r, err := parseResource(u.Value, n.Line)
			if err != nil {
				return nil, err
			}
			r.plugin = m.Key
			if rules = append(rules, r); len(rules) > maxTools {
				return nil, failf(n.Line, "more than %d resources in one line", maxTools)
			}
		}
	}
	return rules, nil
}

// parseResource reads the pattern of a URI.
func parseResource(text string, line int) (r resourceRule, err error) {
	scheme, rest, found := strings.Cut(text, ":")
	if !found || scheme == "" || strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+.-") != "" {
		return r, failf(line, "%q is no URI: write its scheme first, such as %q", text, example(Resources))
	}
	if strings.ContainsAny(rest, " \"<>\\^`|") {
		return r, failf(line, "the URI %q has a character that no URI has", text)
	}
	parts := strings.Split(rest, "/")
	if len(parts) > maxSegments {
		return r, failf(line, "the URI has more than %d segments", maxSegments)
	}
	r.scheme = scheme
	for _, part := range parts {
		s, err := parsePathSegment(part, line)
		if err == nil && (s.plugin || s.bind != nil && s.bind.form != oneStep) {
			err = failf(line, "%s cannot stand here: %s", part, formsText([]form{oneStep}))
		}
		if err != nil {
			return r, err
		}
		r.steps = append(r.steps, s)
	}
	return r, nil
}

// resourceSubject returns the segments of a URI behind its scheme. No wildcard stands for one in which a plugin may find
// a separator or a dot segment.
func resourceSubject(uri string) (scheme string, t subject) {
	scheme, rest, _ := strings.Cut(uri, ":")
	t.steps = strings.Split(rest, "/")
	t.needs = make([]need, len(t.steps))
	for i, s := range t.steps {
		if plain := urlnorm.Decode(s); strings.ContainsAny(plain, `/\`) || urlnorm.HidesDots(plain) {
			t.needs[i] = needLiteral
		}
	}
	return scheme, t
}

// String returns the pattern of the URI.
func (r *resourceRule) String() string {
	steps := make([]string, len(r.steps))
	for i, s := range r.steps {
		steps[i] = s.format(escapePath)
	}
	return r.scheme + ":" + strings.Join(steps, "/")
}

func (l *resourceList) value() string {
	uris := map[string][]string{}
	for _, r := range l.rules {
		uris[r.plugin] = append(uris[r.plugin], r.String())
	}
	formatted := map[string]string{}
	for plugin, all := range uris {
		formatted[plugin] = formatList(all)
		if len(all) == 1 {
			formatted[plugin] = formatWord(all[0])
		}
	}
	return joinMap(formatted)
}

func (l *resourceList) bindings() (all []*binding) {
	for _, r := range l.rules {
		all = append(all, r.steps.bindings()...)
	}
	return all
}

// fill puts a value of the call into a segment.
func (l *resourceList) fill(b *binding, v string, _ *Call) (rule, bool) {
	filled := &resourceList{slices.Clone(l.rules)}
	for i := range filled.rules {
		r := &filled.rules[i]
		r.steps = r.steps.fill(b, pattern{bound(v)})
	}
	return filled, stepValue(v)
}

// covers reports whether the rule covers a URI. An empty plugin is any.
func (r *resourceRule) covers(plugin, scheme string, t subject) bool {
	return (plugin == "" || r.plugin == plugin) && r.scheme == scheme && r.steps.match(t)
}

// denies reports whether the plugin may read the URI as one that the rule covers.
func (r *resourceRule) denies(plugin, uri string) bool {
	scheme, t := resourceSubject(uri)
	if r.covers(plugin, scheme, t) {
		return true
	}
	_, rest, _ := strings.Cut(uri, ":")
	steps := r.steps
	for len(steps) > 1 && !steps[0].open() && steps[0].glob[0] == "" {
		steps = steps[1:] // readings have no empty segments
	}
	return (plugin == "" || r.plugin == plugin) && strings.EqualFold(r.scheme, scheme) && steps.matchReadings("/"+urlnorm.Path(rest), false)
}

func (g *Grant) coversResource(plugin, uri string) bool {
	scheme, t := resourceSubject(uri)
	return slices.ContainsFunc(g.rule.(*resourceList).rules, func(r resourceRule) bool {
		if g.Deny {
			return r.denies(plugin, uri)
		}
		return r.covers(plugin, scheme, t)
	})
}

// Resource decides on reading a resource of another plugin. An empty plugin is a resource that none publishes: it is
// allowed if a line would cover it for some plugin.
func (s *Set) Resource(plugin, uri string) Decision {
	d := s.decide(Resources, func(g *Grant) bool { return g.coversResource(plugin, uri) })
	if d.Grant == nil && !d.Beyond && plugin != "" {
		d.Suggest = suggestResource(plugin, uri)
	}
	return d
}

// suggestResource returns the line for this one URI, empty if none would allow it.
func suggestResource(plugin, uri string) string {
	scheme, t := resourceSubject(uri)
	r := resourceRule{plugin: plugin, scheme: scheme, steps: literals(t.steps)}
	line := Quote(Grant{Family: Resources, rule: &resourceList{[]resourceRule{r}}}.String())
	g, err := ParseLine(line)
	if err != nil || !g.coversResource(plugin, uri) {
		return ""
	}
	return line
}

// spans reports whether the list covers all resources of another.
func (l *resourceList) spans(o *resourceList) bool {
	return !slices.ContainsFunc(o.rules, func(r resourceRule) bool {
		_, t := resourceSubject(":" + strings.Join(r.steps.samples(), "/"))
		return !slices.ContainsFunc(l.rules, func(own resourceRule) bool {
			return own.plugin == r.plugin && own.scheme == r.scheme && own.steps.spans(r.steps, t.needs)
		})
	})
}

// samples returns URIs that the rule covers, with few and with more segments.
func (r *resourceRule) samples() (uris []string) {
	for _, many := range []bool{false, true} {
		uris = append(uris, r.scheme+":"+strings.Join(r.steps.sample(many), "/"))
	}
	return uris
}
