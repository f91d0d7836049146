package grant

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// sample is one effect of a line, in a call with values for its bindings.
type sample struct {
	call Call
	roof string // the folder of the client, for {roots}
	ask  func(*Set) Decision
}

func (e sample) decide(s *Set) Decision {
	return e.ask(s.Bind(e.call).WithRoots([]string{e.roof}))
}

// sampleWord stands for a wildcard, and for a value of the call.
const sampleWord = "example"

// samples returns effects of the line: with the fewest and with more segments for each **, for each method and each
// entry that it names.
func (g Grant) samples(p Places) (out []sample) {
	entries := g.For
	if len(entries) == 0 {
		entries = []string{""}
	}
	values := g.sampleValues()
	for _, entry := range entries {
		e := sample{call: Call{Entry: Entry{Name: entry}, Home: p.Home, Values: func(path []string) []string {
			if v, ok := values[strings.Join(path, ".")]; ok {
				return []string{v}
			}
			return []string{sampleWord}
		}}, roof: g.sampleRoof(p)}
		for _, line := range NewSet(g).Bind(e.call).WithRoots([]string{e.roof}).all() {
			for _, e.ask = range line.effects(p) {
				out = append(out, e)
			}
		}
	}
	return out
}

// sampleValues returns values for the bindings of the line, by their paths.
func (g *Grant) sampleValues() map[string]string {
	values := map[string]string{}
	for _, b := range g.bindings() {
		v := sampleWord
		switch b.form {
		case wholeURL:
			v = "https://www.example/" + sampleWord
			if within := g.net().within; len(within) > 0 {
				v = within[0].sampleURL(true)
			}
		case hostName:
			v = "www.example"
		case subPath:
			v = sampleWord + "/" + sampleWord
		}
		values[strings.Join(b.path, ".")] = v
	}
	return values
}

// sampleRoof returns a folder of a client that the line may be about.
func (g *Grant) sampleRoof(p Places) string {
	if r := g.fs(); r != nil && len(r.within) > 0 {
		return r.within[0].samplePath(p, true)
	}
	return "/" + sampleWord
}

// effects returns the effects of a line without bindings, each as its decision.
func (g *Grant) effects(p Places) (asks []func(*Set) Decision) {
	switch r := g.rule.(type) {
	case *netRule:
		return r.requests(func(s *Set, method string, u *url.URL) Decision { return s.Net(method, u) })
	case *pageRule:
		if r.url != nil {
			return r.url.requests(func(s *Set, _ string, u *url.URL) Decision { return s.Elicit(u) })
		}
		asks = append(asks, func(s *Set) Decision { return s.Elicit(nil) })
	case *fsRule:
		for _, many := range []bool{false, true} {
			if name := r.samplePath(p, many); r.base == "" {
				asks = append(asks, func(s *Set) Decision { return s.Files(p).Decide(r.op, name) })
			}
		}
	case *toolList:
		for _, t := range r.rules {
			asks = append(asks, func(s *Set) Decision { return s.Tool(t.name, t.sampleArgs()) })
		}
	case *resourceList:
		for _, one := range r.rules {
			for _, uri := range one.samples() {
				asks = append(asks, func(s *Set) Decision { return s.Resource(one.plugin, uri) })
			}
		}
	case *configRule:
		asks = append(asks, func(s *Set) Decision { return Decision{Allowed: r.setIn(s.all())} })
	case *Secret:
		return r.uses()
	case storeRule:
		asks = append(asks, given(KV, func(d Decision) bool { return d.Size >= r.size }))
	case budget:
		asks = append(asks, given(Sampling, func(d Decision) bool { return d.Calls >= r.calls && d.Tokens >= r.tokens }))
	default:
		asks = append(asks, given(g.Family, func(Decision) bool { return true }))
	}
	return asks
}

// given is the decision on a family without targets, which is allowed only if its limits suffice.
func given(f Family, enough func(Decision) bool) func(*Set) Decision {
	return func(s *Set) Decision {
		d := s.Given(f)
		d.Allowed = d.Allowed && enough(d)
		return d
	}
}

// requests returns a decision for each method of the line and for the addresses with few and with more segments.
func (r *netRule) requests(decide func(*Set, string, *url.URL) Decision) (asks []func(*Set) Decision) {
	for _, many := range []bool{false, true} {
		u, err := url.Parse(r.sampleURL(many))
		if err == nil {
			u, err = urlnorm.URL(u)
		}
		if err != nil {
			continue
		}
		for _, method := range r.methods {
			asks = append(asks, func(s *Set) Decision { return decide(s, method, u) })
		}
	}
	return asks
}

// sampleURL returns an address that the pattern covers.
func (p *urlPattern) sampleURL(many bool) string {
	labels := p.host.sample(many)
	if len(labels) == 0 {
		labels = []string{"www", sampleWord}
	}
	text := p.scheme + "://" + urlnorm.Join(p.scheme, strings.Join(labels, "."), p.port)
	for _, step := range p.path.sample(many) {
		text += "/" + escapeSegment(step)
	}
	var query []string
	for _, q := range p.query {
		value := sampleWord
		if q.value != nil {
			value = segment{glob: q.value}.sample()
		}
		query = append(query, url.QueryEscape(q.key)+"="+url.QueryEscape(value))
	}
	if many && !p.limited {
		query = append(query, sampleWord+"="+sampleWord)
	}
	if len(query) > 0 {
		text += "?" + strings.Join(query, "&")
	}
	return text
}

// samplePath returns a path that the line covers.
func (r *fsRule) samplePath(p Places, many bool) string {
	text := "/" + strings.Join(r.path.sample(many), "/")
	if r.home {
		text = strings.TrimSuffix(p.Home, "/") + text
	}
	return text
}

// sample returns steps that the pattern matches. With many, ** stands for two of them, else for none.
func (p pattern) sample(many bool) (steps []string) {
	for _, s := range p {
		switch {
		case !s.any:
			steps = append(steps, s.sample())
		case many:
			steps = append(steps, sampleWord, sampleWord)
		}
	}
	return steps
}

// sample returns one step that the segment matches.
func (s segment) sample() string {
	if s.any || s.bind != nil || s.plugin {
		return sampleWord
	}
	return strings.Join(s.glob, sampleWord)
}

// sampleArgs returns arguments of a call that the rule covers.
func (r *toolRule) sampleArgs() map[string]string {
	args := map[string]string{}
	if r.any {
		args[sampleWord] = sampleWord
	}
	for _, a := range r.args {
		args[a.key] = a.text
	}
	return args
}

// setIn reports whether lines have each name of the rule, with any value.
func (r *configRule) setIn(l Lines) bool {
	values, secrets := l.Config(), l.ConfigSecrets()
	for _, key := range slices.Concat(sortedKeys(r.values), sortedKeys(r.secrets)) {
		_, plain := values[key]
		if _, secret := secrets[key]; !plain && !secret {
			return false
		}
	}
	return true
}

// uses returns the decisions on a secret: whether it may be sent to each of its addresses, and be revealed.
func (s *Secret) uses() (asks []func(*Set) Decision) {
	named := func(o Secret) bool { return o.Name == s.Name }
	for _, to := range s.to {
		asks = append(asks, to.requests(func(set *Set, method string, u *url.URL) Decision {
			return Decision{Allowed: slices.ContainsFunc(set.SecretsFor(method, u), named)}
		})...)
	}
	if s.Reveal {
		asks = append(asks, func(set *Set) Decision {
			return Decision{Allowed: slices.ContainsFunc(set.Secrets(), func(o Secret) bool { return named(o) && o.Reveal })}
		})
	}
	return asks
}
