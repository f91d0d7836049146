package grant

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

func (p *urlPattern) deniesPath(u *url.URL) bool {
	return p.path.match(pathSubject(u)) || p.path.matchReadings(u.EscapedPath(), p.runs())
}

// matchReadings reports whether a server may read an escaped path as one that the pattern matches, or with below as a
// path below it.
func (p pattern) matchReadings(escaped string, below bool) bool {
	bones, readings := p.bones(), urlnorm.Skeletons(escaped)
	return len(readings) >= urlnorm.MaxReadings || slices.ContainsFunc(readings, func(steps []string) bool {
		last := len(steps) - 1
		at := bones.reach(subject{steps: steps, bones: true})
		return at[last+1] || steps[last] == "" && last > 0 && at[last] || below && slices.Contains(at, true) ||
			bones.match(subject{steps: append(slices.Clip(steps), ""), bones: true})
	})
}

// runs reports whether the path ends in the name of a program, which a server runs for all paths below it too.
func (p *urlPattern) runs() bool {
	last := p.path[len(p.path)-1]
	if last.any || len(last.glob) == 0 {
		return false
	}
	name := strings.ToLower(last.glob[len(last.glob)-1])
	return slices.ContainsFunc([]string{".php", ".phtml", ".cgi", ".fcgi", ".pl", ".py", ".rb", ".asp", ".aspx", ".ashx", ".asmx", ".axd", ".jsp", ".jspx", ".do", ".cfm", ".cfc", ".dll", ".exe"},
		func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// deniesQuery reports whether a server may read a parameter in the request that the line names. A line that names none
// covers every query.
func (p *urlPattern) deniesQuery(u *url.URL) bool {
	if !p.limited || len(p.query) == 0 {
		return true
	}
	return slices.ContainsFunc(urlnorm.Params(u.EscapedPath(), u.RawQuery), func(is urlnorm.Param) bool {
		return slices.ContainsFunc(p.query, func(q param) bool { return q.may(is) })
	})
}

// coversHost reports whether the line covers a host. An IP address matches only itself and a lone **, never a part of
// it.
func (p *urlPattern) coversHost(host string) bool {
	if p.host.spelled() {
		return p.host.spells(host)
	}
	if urlnorm.IsAddress(host) && !p.host.literal() {
		return len(p.host) == 1 && p.host[0].any
	}
	return p.host.match(subject{steps: hostSteps(host)})
}

// coversQuery reports whether the line covers the query. A line without ? covers any query, except keys by which
// frameworks override the method. For GET and HEAD they do not.
func (p *urlPattern) coversQuery(method string, u *url.URL) bool {
	if !p.limited {
		return IsSafe(method) || !slices.ContainsFunc(urlnorm.Params(u.EscapedPath(), u.RawQuery), func(q urlnorm.Param) bool { return q.Method })
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		if !p.allowsParam(decodeForm(key), decodeForm(value)) {
			return false
		}
	}
	return true
}

func (p *urlPattern) allowsParam(key, value string) bool {
	return slices.ContainsFunc(p.query, func(q param) bool {
		return q.bind == nil && !q.plugin && q.key == key && (q.value == nil || q.value.match(value) || isStar(q.value))
	})
}

func pathSubject(u *url.URL) subject {
	var t subject
	for s := range strings.SplitSeq(strings.TrimPrefix(u.EscapedPath(), "/"), "/") {
		t.steps = append(t.steps, urlnorm.Decode(s))
	}
	t.needs = pathNeed(t.steps)
	return t
}

// pathNeed marks the segments of an address that contain an encoded separator.
func pathNeed(steps []string) []need {
	needs := make([]need, len(steps))
	for i, s := range steps {
		if strings.ContainsAny(s, `/\`) {
			needs[i] = needNoStar
		}
	}
	return needs
}

// spansHost reports whether the line covers the hosts of o. A local address is covered only by its literal name, never
// by a wildcard.
func (p *urlPattern) spansHost(o *urlPattern) bool {
	if o.host.literal() && !p.host.literal() && inside(o.hostString()) {
		return false
	}
	return p.host.spans(o.host, nil)
}

func (p *urlPattern) spansQuery(o *urlPattern, methods []string) bool {
	if !p.limited {
		safe := !slices.ContainsFunc(methods, func(m string) bool { return !IsSafe(m) })
		return safe || !slices.ContainsFunc(o.query, func(q param) bool { return urlnorm.Takes(q.key) })
	}
	return o.limited && !slices.ContainsFunc(o.query, func(q param) bool {
		return !slices.ContainsFunc(p.query, func(own param) bool { return own.spans(&q) })
	})
}

// may reports whether a server may treat a parameter as the one that a line names.
func (p *param) may(be urlnorm.Param) bool {
	name := urlnorm.Name(p.key)
	if !be.Any && !slices.ContainsFunc(be.Names, func(n string) bool { return urlnorm.Meets(name, n) }) {
		return false
	}
	if p.value == nil || isStar(p.value) {
		return true
	}
	value := p.value.bones()
	return slices.ContainsFunc(be.Values, func(v string) bool { return value.meets(v) })
}

// isStar reports whether a query value is a lone star, which also matches the empty value.
func isStar(g glob) bool { return len(g) == 2 && g[0] == "" && g[1] == "" }
