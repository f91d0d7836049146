package grant

import (
	"slices"
	"strings"
)

// callerWords are the parts of a caller's identity that a line can grant, in the order in which they are written.
var callerWords = [...]string{Pseudonym, Principal, Groups}

// Parts of a caller's identity.
const (
	Pseudonym = "pseudonym" // a name of the caller for this plugin alone
	Principal = "principal" // as in the audit log
	Groups    = "groups"    // of its sign-in
)

func callerForm() lineForm {
	f := lineForm{family: Caller, example: "caller: pseudonym", options: map[string]lineOption{"for": forOption()}}
	f.parse = func(n Node) (rule, error) {
		if err := f.oneText(n); err != nil {
			return nil, err
		}
		var r callerRule
		for word := range strings.SplitSeq(n.Value, ",") {
			i := slices.Index(callerWords[:], strings.TrimSpace(word))
			if i < 0 || r[i] {
				return nil, failf(n.Line, "caller takes pseudonym, principal and groups, each once, with commas between them")
			}
			r[i] = true
		}
		return r, nil
	}
	return f
}

// callerRule is the value of a caller line: the granted parts, by their index in callerWords.
type callerRule [len(callerWords)]bool

func (r callerRule) value() string {
	var words []string
	for i, word := range callerWords {
		if r[i] {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

// Caller decides whether a plugin may learn a part of the identity of its caller.
func (s *Set) Caller(part string) Decision {
	i := slices.Index(callerWords[:], part)
	d := s.decide(Caller, func(g *Grant) bool { return i >= 0 && g.rule.(callerRule)[i] })
	if d.Grant == nil && !d.Beyond && i >= 0 {
		d.Suggest = string(Caller) + ": " + part
	}
	return d
}
