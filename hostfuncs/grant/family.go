package grant

import (
	"math"
	"strconv"
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
	Resources   Family = "resources"   // resources of other plugins
	Caller      Family = "caller"      // the identity of the caller

	SecretFamily Family = "secret" // values that the host puts into requests
)

// Defaults of a sampling line: enough for a summary, not for a conversation.
const (
	defaultCalls  = 5
	defaultTokens = 8000
	maxCount      = math.MaxInt32
)

func samplingForm() lineForm {
	return lineForm{
		family: Sampling, example: "sampling: {calls: 3, tokens: 4000}", bare: true, structured: true,
		parse:   func(n Node) (rule, error) { return parseBudget(n) },
		options: map[string]lineOption{"for": forOption()},
	}
}

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

func (b budget) limit(l *Limits, _ bool) {
	l.Calls, l.Tokens = max(l.Calls, b.calls), max(l.Tokens, b.tokens)
}

func (b budget) bounded() bool { return false }

func (b budget) value() string {
	return joinMap(map[string]string{"calls": strconv.Itoa(b.calls), "tokens": strconv.Itoa(b.tokens)})
}

func rootsForm() lineForm {
	f := lineForm{family: Roots, example: "roots", bare: true, options: map[string]lineOption{"for": forOption()}}
	f.parse = func(n Node) (rule, error) { return rootsRule{}, f.oneText(n) }
	return f
}

// rootsRule is the empty value of a roots line.
type rootsRule struct{}

func (rootsRule) value() string { return "" }

func kvForm() lineForm {
	f := lineForm{family: KV, example: "kv: 16MiB", options: map[string]lineOption{"for": forOption()}}
	f.parse = func(n Node) (rule, error) {
		if err := f.oneText(n); err != nil {
			return nil, err
		}
		size, err := ParseSize(n.Value)
		if err != nil {
			return nil, failf(n.Line, "kv takes a size, such as 16MiB")
		}
		return storeRule{size}, nil
	}
	return f
}

// storeRule is the value of a kv line.
type storeRule struct {
	size int64 // in bytes
}

func (r storeRule) value() string { return FormatSize(r.size) }

func (r storeRule) limit(l *Limits, _ bool) { l.Size = max(l.Size, r.size) }

func (r storeRule) bounded() bool { return false }

// Given decides on a family whose lines state only limits: sampling, roots and kv. The decision contains the limits, of
// sampling for one call and of kv for the plugin's store.
func (s *Set) Given(f Family) Decision {
	d := s.decide(f, func(*Grant) bool { return true })
	if d.Grant == nil && !d.Beyond {
		d.Suggest = map[Family]string{Sampling: Sampling.minimal(), Roots: string(Roots), KV: "kv: 1MiB"}[f]
	}
	return d
}

func (f Family) minimal() string { return string(f) + ": {calls: 1, tokens: 1000}" }
