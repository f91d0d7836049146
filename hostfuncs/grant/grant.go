package grant

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/notation"
)

// Grant is one line: it allows, or with Deny forbids, some effects of one family. It is immutable.
type Grant struct {
	Line   int    // in the file it was read from, 1 for the first; 0 if it was not in a file
	File   string // that file, as errors name it; empty if nobody said: see Set.From
	Deny   bool   // forbids what it covers
	Ask    bool   // allows only what is confirmed, one effect at a time
	Family Family // what it is about
	// AskCaller says, with Ask, that whoever makes the call may confirm it, wherever it comes from.
	AskCaller bool
	// For names the tools, prompts and templates that the line is for; empty is all that have the arguments
	// which it binds.
	For []string

	applies map[Entry]bool // what the line is for, once it was fitted; nil is everything

	net    netRule
	fs     fsRule
	config map[string]string
	tools  []toolRule
	secret Secret
	// secrets are the config values that are those of secrets, by name.
	secrets map[string]string
	url     *netRule // of elicitation; nil is forms
	budget  budget   // of sampling
	size    int64    // of kv, in bytes
}

// String writes the grant as ParseLine reads it, in canonical form.
func (g Grant) String() string {
	var b strings.Builder
	if g.Deny {
		b.WriteString("deny: ")
	}
	b.WriteString(string(g.Family))
	if value := g.value(); value != "" {
		b.WriteString(": " + value)
	}
	if o := g.written(); len(o) > 0 {
		b.WriteString(" " + notation.Join(o))
	}
	return b.String()
}

// value is what stands after the family.
func (g *Grant) value() string {
	switch g.Family {
	case Net:
		return g.net.String()
	case FS:
		return g.fs.String()
	case Config:
		return g.configString()
	case SecretFamily:
		return g.secret.Name
	case Tools:
		return g.toolsString()
	case Sampling:
		return g.budget.String()
	case KV:
		return FormatSize(g.size)
	case Elicitation:
		if g.url != nil {
			return notation.FormatMap(map[string]string{"url": g.url.address()})
		}
	}
	return ""
}

// Open is what a line lets pass that it cannot name, in words that stand behind "with"; empty if that is nothing. It is for
// whoever allows the line after having seen one request.
func (g Grant) Open() string {
	switch {
	case g.Family != Net || g.Deny:
		return ""
	case g.net.body > 0:
		return "any headers and any body of at most " + FormatSize(g.net.body)
	}
	return "any headers and any body"
}

// Set is the grants of one plugin. A nil Set grants nothing. It is immutable and safe for concurrent use.
type Set struct {
	grants  []Grant
	ceiling []*Set // each must cover an effect too
}

// NewSet returns a set of these grants.
func NewSet(grants ...Grant) *Set { return &Set{grants: slices.Clone(grants)} }

// With returns a set that holds grants as well.
func (s *Set) With(grants ...Grant) *Set {
	return &Set{grants: append(slices.Clone(s.all()), grants...), ceiling: s.ceilings()}
}

// Grants returns the grants in the order of their lines.
func (s *Set) Grants() []Grant { return slices.Clone(s.all()) }

// From returns the set with the name of the file that its lines were read from.
func (s *Set) From(file string) *Set {
	out := &Set{grants: s.Grants(), ceiling: s.ceilings()}
	for i := range out.grants {
		out.grants[i].File = file
	}
	return out
}

// Config returns the values that config lines give; of two with one name the later holds.
func (s *Set) Config() map[string]string {
	values := map[string]string{}
	for _, g := range s.all() {
		maps.Copy(values, g.config)
	}
	return values
}

// String writes one grant a line.
func (s *Set) String() string {
	var b strings.Builder
	for _, g := range s.all() {
		b.WriteString(g.String() + "\n")
	}
	return b.String()
}

// Same reports whether two sets allow the same in the same words, wherever their lines stand.
func (s *Set) Same(o *Set) bool {
	return slices.EqualFunc(s.all(), o.all(), Grant.same) && slices.EqualFunc(s.ceilings(), o.ceilings(), (*Set).Same)
}

func (g Grant) same(o Grant) bool {
	g.Line, o.Line, g.secret.Line, o.secret.Line = 0, 0, 0, 0
	return reflect.DeepEqual(g, o)
}

func (s *Set) all() []Grant {
	if s == nil {
		return nil
	}
	return s.grants
}

// Decision is the answer to one effect.
type Decision struct {
	Allowed bool
	// Ask says that only lines with ask: true cover it, so that it needs a confirmation.
	Ask bool
	// Grant is the line that decided: of several that allow it the first, or the first that names the host. It is
	// nil if no line covers the effect.
	Grant *Grant
	// Suggest is the narrowest line that would allow exactly this effect; empty if it is allowed, if a
	// deny line forbids it, or if no line can say it.
	Suggest string
	// SpellOut says, for fs, that a line would cover the path if the place were not one of those that a
	// line must spell out. With Beyond it says that of lines of a ceiling, for net too, where one has to name an
	// address of this machine or its network.
	SpellOut bool
	// Named says, for net and for addresses that a person is sent to, that a line which allows it spells the host out.
	Named bool
	// Private says, with Named, that such a line lets the host be in a private network.
	Private bool
	// Beyond says that a ceiling does not cover it, whatever the lines do.
	Beyond bool
	// Misread says, of an address that a line denies without naming it as it is written, how servers may read it; else it
	// is empty.
	Misread string
	// Wild says, for net, that no line covers the address or names its host and port, but that a line with stars in
	// its host covers the host: on another port, or with another path.
	Wild bool
	// Turned says, for net, that a line with any query would cover the address if its query had no key by which frameworks
	// take a request for one with another method.
	Turned bool
	// Body is, for net, the largest request body in bytes that the lines allow; 0 if they do not say.
	Body int64
	// Idempotent says, for net, that the request may be sent again when nobody knows what came of it.
	Idempotent bool
	// Calls and Tokens are, for sampling, what one call may use in all.
	Calls, Tokens int
	// Size is, for kv, how many bytes the plugin may keep.
	Size int64
	// Direct says, for fs, that the line that decided lets files be written in place.
	Direct bool
	// Quota and Files bound, for fs, the bytes and the number of files that one call may write under the
	// line that decided; 0 if it does not say.
	Quota int64
	Files int
}

// own goes through the lines of one family: denials first, then whatever allows.
func (s *Set) own(f Family, covers func(*Grant) bool) Decision {
	for i := range s.all() {
		if g := &s.grants[i]; g.Family == f && g.Deny && covers(g) {
			return Decision{Grant: g}
		}
	}
	var d Decision
	for i := range s.all() {
		if g := &s.grants[i]; g.Family == f && !g.Deny && covers(g) {
			d.add(g)
		}
	}
	return d
}

// add takes a line that covers the effect into the decision.
func (d *Decision) add(g *Grant) {
	if g.Ask {
		if !d.Allowed && d.Grant == nil {
			d.Ask, d.Grant = true, g
		}
		return
	}
	if !d.Allowed {
		d.Allowed, d.Ask, d.Grant, d.Body = true, false, g, g.net.body
		d.Direct, d.Quota, d.Files = g.fs.direct, g.fs.quota, g.fs.files
	}
	rule := g.rule()
	if rule.named() && !d.Named {
		d.Grant = g // which decides where an address has to be named
	}
	d.Calls, d.Tokens, d.Size = max(d.Calls, g.budget.calls), max(d.Tokens, g.budget.tokens), max(d.Size, g.size)
	d.Named, d.Idempotent = d.Named || rule.named(), d.Idempotent || g.net.idempotent
	d.Private = d.Private || rule.named() && rule.private
	if g.net.body == 0 || d.Body == 0 {
		d.Body = 0
		return
	}
	d.Body = max(d.Body, g.net.body)
}
