package grant

import (
	"math"
	"net/url"
	"strconv"
	"strings"
)

// Family is a kind of effect.
type Family string

// Families of effects that a line may grant.
const (
	Net         Family = "net"         // requests over http and https
	FS          Family = "fs"          // files and folders of the host
	Config      Family = "config"      // plain values in the environment of the plugin
	KV          Family = "kv"          // keys and values that the host stores for the plugin
	Sampling    Family = "sampling"    // completions of the client's model
	Elicitation Family = "elicitation" // forms and URLs that the client shows to its user
	Roots       Family = "roots"       // the folders that the client works in
	Tools       Family = "tools"       // tools of other plugins

	SecretFamily Family = "secret" // values that the host puts into requests
)

// families returns the words that a line may begin with, in the order of error messages.
func families() []Family {
	return []Family{Config, Elicitation, FS, KV, Net, Roots, Sampling, SecretFamily, Tools}
}

// later reports whether the family is reserved but not enforced by this version.
func later(f Family) bool {
	switch f {
	case "clock", "random", "ui", "links":
		return true
	}
	return false
}

func available(f Family) bool {
	for _, known := range families() {
		if f == known && !later(f) {
			return true
		}
	}
	return false
}

// wordsOf lists the words that a line may begin with, for error messages.
func wordsOf() string {
	var words []string
	for _, f := range families() {
		if available(f) {
			words = append(words, string(f))
		}
	}
	return strings.Join(words, ", ") + " or deny"
}

// isHead reports whether a member names the family rather than an option.
func isHead(key string) bool {
	return key == "deny" || available(Family(key)) || later(Family(key))
}

// bare reports whether the family alone is a complete line.
func bare(f Family) bool { return f == Elicitation || f == Roots || f == Sampling }

// structured reports whether the value of the family may be a map or a list.
func structured(f Family) bool { return f == Config || f == Elicitation || f == Sampling || f == Tools }

func example(f Family) string {
	switch f {
	case Net:
		return "net: GET https://api.example.com/v1/**"
	case KV:
		return "kv: 16MiB"
	case Sampling:
		return "sampling: {calls: 3, tokens: 4000}"
	case Elicitation:
		return "elicitation: {url: https://accounts.example.com/**}"
	case Roots:
		return "roots"
	case Tools:
		return "tools: [time-now, {forge-get: {owner: \"{args.owner}\"}}]"
	case SecretFamily:
		return "secret: API_TOKEN {to: https://api.example.com/**, as: \"Authorization: Bearer {secret}\"}"
	case Config:
		return "config: {name: value}"
	}
	return "fs: read ~/work/**"
}

// Defaults of a sampling line: enough for a summary, not for a conversation.
const (
	defaultCalls  = 5
	defaultTokens = 8000
	maxCount      = math.MaxInt32
)

// budget is the value of a sampling line, for one call.
type budget struct {
	calls, tokens int
}

func parseBudget(n Node) (budget, error) {
	b := budget{calls: defaultCalls, tokens: defaultTokens}
	if n.Kind == Scalar && n.Value == "" {
		return b, nil
	}
	if n.Kind != Map {
		return b, failf(n.Line, "sampling takes numbers: write such as %q", example(Sampling))
	}
	for _, m := range n.Nodes {
		to := map[string]*int{"calls": &b.calls, "tokens": &b.tokens}[m.Key]
		if to == nil {
			return b, failf(m.Line, "unknown %q in sampling: write calls or tokens", m.Key)
		}
		var err error
		if *to, err = parseCount(m); err != nil {
			return b, err
		}
	}
	return b, nil
}

func parseCount(n Node) (int, error) {
	i, err := strconv.Atoi(n.Value)
	if n.Kind != Scalar || err != nil || i <= 0 || i > maxCount || n.Value[0] == '+' {
		return 0, failf(n.Line, "%s is a whole number above zero", n.Key)
	}
	return i, nil
}

func (b budget) String() string {
	return joinMap(map[string]string{"calls": strconv.Itoa(b.calls), "tokens": strconv.Itoa(b.tokens)})
}

// parseElicitation reads an empty value, for forms, or {url: PATTERN}, for URLs.
func parseElicitation(n Node) (*netRule, error) {
	if n.Kind == Scalar && n.Value == "" {
		return nil, nil
	}
	if n.Kind != Map || len(n.Nodes) != 1 || n.Nodes[0].Key != "url" || n.Nodes[0].Kind != Scalar {
		return nil, failf(n.Line, "elicitation alone allows forms; for an address write such as %q", example(Elicitation))
	}
	r, err := parseNet("GET "+n.Nodes[0].Value, n.Line)
	return &r, err
}

// address returns the pattern of a rule without its methods.
func (r *netRule) address() string {
	_, address, _ := strings.Cut(r.String(), " ")
	return address
}

// Sampling decides on requests to the client's model. Calls and Tokens of the decision are the total limits of one
// call.
func (s *Set) Sampling() Decision { return s.given(Sampling) }

// Roots decides on requests for the client's folders.
func (s *Set) Roots() Decision { return s.given(Roots) }

// KV decides on the key-value store of the plugin. Size of the decision is its limit in bytes.
func (s *Set) KV() Decision { return s.given(KV) }

// Elicit decides on a request to the client's user: by a form or, if u is not nil, to open that URL, which must come
// from urlnorm.URL.
func (s *Set) Elicit(u *url.URL) Decision {
	d := s.decide(Elicitation, func(g *Grant) bool {
		if u == nil || g.url == nil {
			return u == nil && g.url == nil
		}
		return g.url.covers("GET", u)
	})
	if d.Grant != nil || d.Beyond {
		return d
	}
	d.Suggest = string(Elicitation)
	if u != nil {
		d.Suggest = suggestElicit(u)
	}
	return d
}

func suggestElicit(u *url.URL) string {
	r := ruleFor("GET", u)
	return Quote(Grant{Family: Elicitation, url: &r}.String())
}

// SuggestPrivatePage returns the narrowest line for one URL of a private network that a user is asked to open; empty
// if no line would allow it.
func (s *Set) SuggestPrivatePage(u *url.URL) string {
	r := ruleFor("GET", u)
	r.private = true
	g := Grant{Family: Elicitation, url: &r}
	if d := s.With(g).Elicit(u); !d.Allowed || !d.Private {
		return ""
	}
	return Quote(g.String())
}

// given decides on a family with lines that only state limits.
func (s *Set) given(f Family) Decision {
	d := s.decide(f, func(*Grant) bool { return true })
	if d.Grant == nil && !d.Beyond {
		d.Suggest = map[Family]string{Sampling: Sampling.minimal(), Roots: string(Roots), KV: "kv: 1MiB"}[f]
	}
	return d
}

func (f Family) minimal() string { return string(f) + ": {calls: 1, tokens: 1000}" }
