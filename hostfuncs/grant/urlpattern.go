package grant

import (
	"net/url"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// urlPattern is the address of a net line.
type urlPattern struct {
	scheme  string
	host    pattern // one literal label if it is an address
	port    string
	path    pattern
	query   []param // only these, if limited
	limited bool    // the pattern has a query
}

// param is one allowed query parameter.
type param struct {
	key   string
	value glob // nil allows any
	bind  *binding

	plugin bool // replaced by the plugin's name
}

// patternOf returns the pattern that covers only one address.
func patternOf(u *url.URL) urlPattern {
	p := urlPattern{scheme: u.Scheme, limited: true}
	p.port, _ = urlnorm.Port(u.Scheme, u.Port(), false)
	p.host = literals(hostSteps(u.Hostname()))
	p.path = literals(pathSubject(u).steps)
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if key, value, _ := strings.Cut(pair, "="); pair != "" {
			p.query = append(p.query, param{key: decodeForm(key), value: glob{decodeForm(value)}})
		}
	}
	return p
}

// parseURLPattern reads "https://host/path?query".
func parseURLPattern(address string, line int) (p urlPattern, err error) {
	marks, err := markBindings(&address, line)
	if err != nil {
		return p, err
	}
	scheme, rest, found := strings.Cut(address, "://")
	p.scheme = strings.ToLower(scheme)
	if !found || p.scheme != "http" && p.scheme != "https" {
		return p, failf(line, "an address begins with https:// or http://: write such as %q", example(Net))
	}
	if strings.ContainsAny(rest, "# ") {
		return p, failf(line, "an address holds no # and no blank: write %%23 or %%20")
	}
	rest, query, limited := strings.Cut(rest, "?")
	if err := p.parseQuery(query, limited, marks, line); err != nil {
		return p, err
	}
	authority, path, _ := strings.Cut(rest, "/")
	if rest == "**" {
		path = "**" // https://** is the whole web
	}
	if err := p.parseAuthority(authority, marks, line); err != nil {
		return p, err
	}
	err = p.parsePath(path, marks, line)
	return p, err
}

func (p *urlPattern) parseAuthority(text string, m marks, line int) error {
	if strings.Contains(text, "@") {
		return failf(line, "user information in an address is not allowed: remove the part before the @")
	}
	host, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		host, port = text[:i], text[i+1:]
	}
	var err error
	if p.port, err = urlnorm.Port(p.scheme, port, len(host) < len(text)); err != nil {
		return failf(line, "%v", err)
	}
	if inner, found := strings.CutPrefix(host, "["); found {
		inner, closed := strings.CutSuffix(inner, "]")
		if !closed || !strings.Contains(inner, ":") {
			return failf(line, "host %q is not an address", host)
		}
		host = inner
	} else if strings.Contains(host, ":") {
		return failf(line, "host %q is not a name: write an IPv6 address in brackets", text)
	}
	return p.parseHost(host, m, line)
}

func (p *urlPattern) parseHost(host string, m marks, line int) error {
	if !strings.Contains(host, "*") && !m.in(host) {
		host, err := urlnorm.Host(host)
		if err != nil {
			return failf(line, "%v", err)
		}
		for _, step := range hostSteps(host) {
			p.host = append(p.host, segment{glob: glob{step}})
		}
		return nil
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	if len(labels) > maxSegments {
		return failf(line, "the host has more than %d labels", maxSegments)
	}
	if labels, ok := m.text(labels, "a"); !ok || urlnorm.IsNumber(labels[len(labels)-1]) {
		return failf(line, "host %q is not a name: its last label is a number", strings.Join(labels, "."))
	}
	if strings.Trim(host, "0123456789.*") == "" && strings.Trim(host, ".*") != "" {
		return failf(line, "host %q is not a name: write an address without stars", host)
	}
	for _, label := range labels {
		if s, found, err := m.segment(label, line, oneStep, hostName); err != nil {
			return err
		} else if found {
			if s.bind != nil && s.bind.form == hostName && len(labels) > 1 {
				return failf(line, "%s is the whole host: remove the rest, or write one label, {args.NAME}", s.bind)
			}
			p.host = append(p.host, s)
			continue
		}
		s, ok := parseSegment(label)
		if !ok {
			return failf(line, "** stands alone between dots")
		}
		if err := urlnorm.CheckLabel(strings.ReplaceAll(label, "*", "x"), host); err != nil {
			return failf(line, "%v", err)
		}
		p.host = append(p.host, s)
	}
	return nil
}

// parseSegment reads a segment or label with stars as wildcards.
func parseSegment(text string) (segment, bool) {
	if text == "**" {
		return segment{any: true}, true
	}
	return segment{glob: splitStars(text)}, !strings.Contains(text, "**")
}

// hostSteps returns the labels of a name. An address is a single step.
func hostSteps(host string) []string {
	if urlnorm.IsAddress(host) {
		return []string{host}
	}
	return strings.Split(host, ".")
}

func (p *urlPattern) parsePath(path string, m marks, line int) error {
	parts := strings.Split(path, "/")
	if len(parts) > maxSegments {
		return failf(line, "the path has more than %d segments", maxSegments)
	}
	for _, part := range parts {
		if s, found, err := m.segment(part, line, oneStep); err != nil {
			return err
		} else if found {
			p.path = append(p.path, s)
			continue
		}
		s, ok := parseSegment(urlnorm.Path(part))
		if !ok {
			return failf(line, "** stands alone between slashes")
		}
		for i := range s.glob {
			s.glob[i] = urlnorm.Decode(s.glob[i])
		}
		if s.glob.literal() && !s.any && (urlnorm.HidesDots(s.glob[0])) {
			return failf(line, "segment %q is not allowed: write the path without dot segments", part)
		}
		p.path = append(p.path, s)
	}
	return nil
}

func (p *urlPattern) parseQuery(query string, limited bool, m marks, line int) error {
	p.limited = limited
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		if len(p.query) == maxSegments {
			return failf(line, "the query has more than %d keys", maxSegments)
		}
		key, value, found := strings.Cut(pair, "=")
		if strings.Contains(key, "*") {
			return failf(line, "a query key has no wildcard: list the keys, or leave the ? out to allow any")
		}
		if m.in(key) {
			return failf(line, "a query key is no value of the call: list the keys")
		}
		q := param{key: decodeForm(key)}
		if s, marked, err := m.segment(value, line, oneStep); err != nil {
			return err
		} else if marked {
			q.bind, q.value, q.plugin = s.bind, s.glob, s.plugin
		} else if found {
			for _, piece := range splitStars(value) {
				q.value = append(q.value, decodeForm(piece))
			}
		}
		p.query = append(p.query, q)
	}
	return nil
}

func decodeForm(s string) string {
	return urlnorm.Decode(urlnorm.Query(strings.ReplaceAll(s, "+", "%20")))
}

// String returns the pattern in the form that parseURLPattern reads.
func (p *urlPattern) String() string {
	host := urlnorm.Join(p.scheme, p.hostString(), p.port)
	text := p.scheme + "://" + host
	if path := p.pathString(); host != "**" || path != "/**" { // https://** is the whole web
		text += path
	}
	if p.limited {
		text += "?" + p.queryString()
	}
	return text
}

func (p *urlPattern) hostString() string {
	labels := make([]string, len(p.host))
	for i, s := range p.host {
		labels[i] = s.format(func(s string) string { return s })
	}
	return strings.Join(labels, ".")
}

func (p *urlPattern) pathString() string {
	var b strings.Builder
	for _, s := range p.path {
		b.WriteString("/" + s.format(escapeSegment))
	}
	return b.String()
}

func (p *urlPattern) queryString() string {
	pairs := make([]string, len(p.query))
	for i, q := range p.query {
		pairs[i] = url.QueryEscape(q.key)
		if q.bind != nil || q.plugin {
			pairs[i] += "=" + segment{bind: q.bind, plugin: q.plugin}.format(nil)
		} else if q.value != nil {
			pairs[i] += "=" + segment{glob: q.value}.format(url.QueryEscape)
		}
	}
	return strings.Join(pairs, "&")
}

// format returns the segment with its literal pieces escaped.
func (s segment) format(escape func(string) string) string {
	switch {
	case s.any:
		return "**"
	case s.bind != nil:
		return s.bind.String()
	case s.plugin:
		return "{plugin}"
	}
	pieces := make([]string, len(s.glob))
	for i, piece := range s.glob {
		pieces[i] = escape(piece)
	}
	return strings.Join(pieces, "*")
}

// escapeSegment escapes separators and wildcards in literal text.
func escapeSegment(s string) string {
	s = strings.ReplaceAll(s, "%", "%25")
	return strings.NewReplacer("*", "%2A", "/", "%2F").Replace(urlnorm.Path(s))
}

// wellFormed reports whether the host is valid with its labels filled in.
func (p *urlPattern) wellFormed() bool {
	last := len(p.host) - 1
	return last < 0 || !p.host[last].bound || len(p.host[last].glob) != 1 || !urlnorm.IsNumber(p.host[last].glob[0])
}
