package grant

import (
	"slices"
	"strings"
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

// netRule is the value of a net line. It implements all interfaces of rule.go, which are most of its methods; the rest
// read and write its options, and match addresses.
type netRule struct {
	methods []string // sorted
	urlPattern
	body       int64 // maximum size of a request body; 0 is no limit
	private    bool  // the host may be in a private network, or be an address that is local to one machine
	idempotent bool  // a request with unknown outcome may be sent again

	url    *binding  // the whole address is a value of the call; nil once it is filled
	origin bool      // the address was such a value: redirects within its host are followed
	public bool      // redirects to any public address are followed
	within []netRule // the address must match one of these; their methods are ignored
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
	r.urlPattern, err = parseURLPattern(address, line)
	return r, err
}

// address returns the pattern of a rule without its methods.
func (r *netRule) address() string {
	if r.url != nil {
		return r.url.String()
	}
	return r.urlPattern.String()
}

// String returns the rule in the form that parseNet reads.
func (r *netRule) String() string {
	return strings.Join(r.methods, ",") + " " + r.address()
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
