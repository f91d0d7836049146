package grant

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

func netForm() lineForm {
	f := lineForm{family: Net, example: "net: GET https://api.example.com/v1/**", deniable: true}
	f.options = map[string]lineOption{
		"ask":        askOption(),
		"body":       sizeOption(func(r *netRule) *int64 { return &r.body }),
		"for":        forOption(),
		"idempotent": flagOption(": whether a request with an unknown outcome may be sent again", func(r *netRule) *bool { return &r.idempotent }),
		"private":    privateOption(),
		"redirects":  option((*netRule).readRedirects, (*netRule).writeRedirects),
		"within":     option((*netRule).readWithin, (*netRule).writeWithin),
	}
	f.parse = func(n Node) (rule, error) {
		if err := f.oneText(n); err != nil {
			return nil, err
		}
		r, err := parseNet(n.Value, n.Line)
		return &r, err
	}
	return f
}

// netRule is the value of a net line.
type netRule struct {
	methods []string // sorted
	scheme  string
	host    pattern // one literal label if it is an address
	port    string
	path    pattern
	query   []param // only these, if limited
	limited bool    // the pattern has a query
	body    int64   // maximum size of a request body; 0 is no limit

	private bool // the host may be in a private network, or be an address that is local to one machine

	idempotent bool // a request with unknown outcome may be sent again

	url    *binding  // the whole address is a value of the call; nil once it is filled
	origin bool      // the address was such a value: redirects within its host are followed
	public bool      // redirects to any public address are followed
	within []netRule // the address must match one of these; their methods are ignored
}

// param is one allowed query parameter.
type param struct {
	key   string
	value glob // nil allows any
	bind  *binding

	plugin bool // replaced by the plugin's name
}

// named reports whether the line contains its host literally.
func (r *netRule) named() bool { return r != nil && len(r.host) > 0 && r.host.spelled() }

// namesHost reports whether the line, or one of the patterns in within, contains a host literally.
func (r *netRule) namesHost() bool {
	return r.named() || r.url != nil && slices.ContainsFunc(r.within, func(w netRule) bool { return w.named() })
}

func (r *netRule) value() string { return r.String() }

func (r *netRule) limit(l *Limits, first bool) {
	l.Idempotent = l.Idempotent || r.idempotent
	switch {
	case first:
		l.Body = r.body
	case r.body == 0 || l.Body == 0:
		l.Body = 0
	default:
		l.Body = max(l.Body, r.body)
	}
}

func (r *netRule) bounded() bool { return r.body > 0 }

// check finds options that do not fit the address.
func (r *netRule) check(line int) error {
	if err := r.checkPrivate(line); err != nil {
		return err
	}
	if r.url == nil && (len(r.within) > 0 || r.public) {
		return failf(line, "within and redirects are for a line with {args.NAME:url}: remove them")
	}
	return nil
}

func (r *netRule) checkPrivate(line int) error {
	if r != nil && r.private && !r.namesHost() {
		return failf(line, "private is for a line that spells its host out: write the host without stars and braces, in within where the line has {args.NAME:url}")
	}
	return nil
}

// maxSegments is the maximum number of segments of a pattern, since the cost of each comparison grows with it.
const maxSegments = 128

// parseNet reads "GET,POST https://host/path?query".
func parseNet(text string, line int) (r netRule, err error) {
	methods, address, found := strings.Cut(text, " ")
	if !found || strings.Contains(methods, "://") {
		return r, failf(line, "net needs a method and an address: write such as %q", example(Net))
	}
	if r.methods, err = parseMethods(methods, line); err != nil {
		return r, err
	}
	address = strings.TrimSpace(address)
	if strings.HasPrefix(address, "{") {
		b, rest, err := parseBinding(address, line, wholeURL)
		if err == nil && rest != "" {
			err = failf(line, "%s is the whole address: remove %q", b, rest)
		}
		r.url = b
		return r, err
	}
	marks, err := r.mark(&address, line)
	if err != nil {
		return r, err
	}
	scheme, rest, found := strings.Cut(address, "://")
	r.scheme = strings.ToLower(scheme)
	if !found || r.scheme != "http" && r.scheme != "https" {
		return r, failf(line, "an address begins with https:// or http://: write such as %q", example(Net))
	}
	if strings.ContainsAny(rest, "# ") {
		return r, failf(line, "an address holds no # and no blank: write %%23 or %%20")
	}
	rest, query, limited := strings.Cut(rest, "?")
	if err := r.parseQuery(query, limited, marks, line); err != nil {
		return r, err
	}
	authority, path, _ := strings.Cut(rest, "/")
	if rest == "**" {
		path = "**" // https://** is the whole web
	}
	if err := r.parseAuthority(authority, marks, line); err != nil {
		return r, err
	}
	return r, r.parsePath(path, marks, line)
}

func (r *netRule) parseAuthority(text string, m marks, line int) error {
	if strings.Contains(text, "@") {
		return failf(line, "user information in an address is not allowed: remove the part before the @")
	}
	host, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		host, port = text[:i], text[i+1:]
	}
	var err error
	if r.port, err = urlnorm.Port(r.scheme, port, len(host) < len(text)); err != nil {
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
	return r.parseHost(host, m, line)
}

func (r *netRule) parseHost(host string, m marks, line int) error {
	if !strings.Contains(host, "*") && !m.in(host) {
		host, err := urlnorm.Host(host)
		if err != nil {
			return failf(line, "%v", err)
		}
		for _, step := range hostSteps(host) {
			r.host = append(r.host, segment{glob: glob{step}})
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
			r.host = append(r.host, s)
			continue
		}
		s, ok := parseSegment(label)
		if !ok {
			return failf(line, "** stands alone between dots")
		}
		if err := urlnorm.CheckLabel(strings.ReplaceAll(label, "*", "x"), host); err != nil {
			return failf(line, "%v", err)
		}
		r.host = append(r.host, s)
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

func (r *netRule) parsePath(path string, m marks, line int) error {
	parts := strings.Split(path, "/")
	if len(parts) > maxSegments {
		return failf(line, "the path has more than %d segments", maxSegments)
	}
	for _, part := range parts {
		if s, found, err := m.segment(part, line, oneStep); err != nil {
			return err
		} else if found {
			r.path = append(r.path, s)
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
		r.path = append(r.path, s)
	}
	return nil
}

func (r *netRule) parseQuery(query string, limited bool, m marks, line int) error {
	r.limited = limited
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		if len(r.query) == maxSegments {
			return failf(line, "the query has more than %d keys", maxSegments)
		}
		key, value, found := strings.Cut(pair, "=")
		if strings.Contains(key, "*") {
			return failf(line, "a query key has no wildcard: list the keys, or leave the ? out to allow any")
		}
		if m.in(key) {
			return failf(line, "a query key is no value of the call: list the keys")
		}
		p := param{key: decodeForm(key)}
		if s, marked, err := m.segment(value, line, oneStep); err != nil {
			return err
		} else if marked {
			p.bind, p.value, p.plugin = s.bind, s.glob, s.plugin
		} else if found {
			for _, piece := range splitStars(value) {
				p.value = append(p.value, decodeForm(piece))
			}
		}
		r.query = append(r.query, p)
	}
	return nil
}

func decodeForm(s string) string {
	return urlnorm.Decode(urlnorm.Query(strings.ReplaceAll(s, "+", "%20")))
}

// address returns the pattern of a rule without its methods.
func (r *netRule) address() string {
	_, address, _ := strings.Cut(r.String(), " ")
	return address
}

// String returns the rule in the form that parseNet reads.
func (r *netRule) String() string {
	var b strings.Builder
	if r.url != nil {
		return strings.Join(r.methods, ",") + " " + r.url.String()
	}
	host := urlnorm.Join(r.scheme, r.hostString(), r.port)
	b.WriteString(strings.Join(r.methods, ",") + " " + r.scheme + "://" + host)
	if path := r.pathString(); host != "**" || path != "/**" { // https://** is the whole web
		b.WriteString(path)
	}
	if r.limited {
		b.WriteString("?" + r.queryString())
	}
	return b.String()
}

func (r *netRule) hostString() string {
	labels := make([]string, len(r.host))
	for i, s := range r.host {
		labels[i] = s.format(func(s string) string { return s })
	}
	return strings.Join(labels, ".")
}

func (r *netRule) pathString() string {
	var b strings.Builder
	for _, s := range r.path {
		b.WriteString("/" + s.format(escapeSegment))
	}
	return b.String()
}

func (r *netRule) queryString() string {
	pairs := make([]string, len(r.query))
	for i, p := range r.query {
		pairs[i] = url.QueryEscape(p.key)
		if p.bind != nil || p.plugin {
			pairs[i] += "=" + segment{bind: p.bind, plugin: p.plugin}.format(nil)
		} else if p.value != nil {
			pairs[i] += "=" + segment{glob: p.value}.format(url.QueryEscape)
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

func (r *netRule) readWithin(n Node) error {
	return placeTexts(n, func(e Node) error {
		w, err := parseNet("GET "+e.Value, e.Line)
		r.within = append(r.within, w)
		return err
	})
}

func (r *netRule) writeWithin() string {
	var words []string
	for _, w := range r.within {
		words = append(words, w.address())
	}
	return listed(words)
}

func (r *netRule) readRedirects(n Node) error {
	if n.Kind != Scalar || n.Value != "public" {
		return failf(n.Line, `redirects is "public": anywhere in the public web; without it they stay at the host`)
	}
	r.public = true
	return nil
}

func (r *netRule) writeRedirects() string {
	if r.public {
		return "public"
	}
	return ""
}
