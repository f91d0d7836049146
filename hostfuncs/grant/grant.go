package grant

import (
	"reflect"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/identity"
)

// Grant is one line: it allows or, with Deny, denies some effects of one family. It is immutable.
// Many of its methods are short: they return its rule by type, or read and write one option that all families share.
type Grant struct {
	Line   int    // in the file it was read from, 1 for the first; 0 if it was not in a file
	File   string // path of that file for errors; empty if not set: see Set.From
	Deny   bool   // denies the effects that it covers
	Ask    bool   // each effect needs a confirmation
	Family Family // kind of its effects
	// AskCaller means, with Ask, that the caller itself may confirm an effect, even a remote one.
	AskCaller bool
	// For names the tools, prompts and templates that the line applies to. If empty, it applies to all that have the
	// arguments which it binds.
	For []string
	// Who names the callers that the line is for, as ParseWho of package identity reads them. If empty, it is for all.
	Who []string

	callers identity.Who   // of Who, with the members of its groups; see Set.Resolve
	bound   bool           // the line is bound to a call of one of its callers
	applies map[Entry]bool // entries that the line applies to, set by Fit; nil is all

	rule rule
}

// String returns the grant in canonical form, which ParseLine reads.
func (g Grant) String() string {
	var b strings.Builder
	if g.Deny {
		b.WriteString("deny: ")
	}
	b.WriteString(string(g.Family))
	if g.rule != nil {
		if value := g.rule.value(); value != "" {
			b.WriteString(": " + value)
		}
	}
	if o := g.written(); len(o) > 0 {
		b.WriteString(" " + joinMap(o))
	}
	return b.String()
}

// Open describes the parts of a request that a line leaves unrestricted, as a phrase to follow "with"; empty if there
// are none. It is for an operator who allows the line after having seen one request.
func (g Grant) Open() string {
	switch {
	case g.Family != Net || g.Deny:
		return ""
	case g.net().body > 0:
		return "any headers and any body of at most " + FormatSize(g.net().body)
	}
	return "any headers and any body"
}

func (g Grant) same(o Grant) bool {
	g.Line, o.Line = 0, 0
	g.rule, o.rule = unplaced(g.rule), unplaced(o.rule)
	return reflect.DeepEqual(g, o)
}

// unplaced returns a rule without its position in a file.
func unplaced(r rule) rule {
	if s, ok := r.(*Secret); ok {
		bare := *s
		bare.Line = 0
		return &bare
	}
	return r
}

// Decision is the result for one effect.
type Decision struct {
	Allowed bool
	// Ask means that only lines with ask: true cover it, so that it needs a confirmation.
	Ask bool
	// Grant is the line that decided: of several lines that allow the effect the first, or the first that names the
	// host. It is nil if no line covers the effect.
	Grant *Grant
	// Suggest is the narrowest line that would allow this effect. It is empty if the effect is allowed, if a deny line
	// covers it, or if no line can express it.
	Suggest string
	// SpellOut means, for fs, that a line matches the path by a wildcard or a value, but must contain it literally.
	// With Beyond it means the same for the lines of a ceiling, and for net that a ceiling must name an address of
	// this machine or its network.
	SpellOut bool
	// Named means, for net and for URLs shown to a user, that a line which allows it contains the host literally.
	Named bool
	// Private means, with Named, that such a line allows the host to be in a private network.
	Private bool
	// Beyond means that a ceiling does not cover it, regardless of the lines.
	Beyond bool
	// Misread describes, for an address that a deny line covers only in a different reading, how servers may read it.
	// Otherwise it is empty.
	Misread string
	// Wild means, for net, that no line covers the address or names its host and port, but that a line with wildcards
	// in its host covers the host, with a different port or path.
	Wild bool
	// Turned means, for net, that a line with any query would cover the address, if its query had no key by which
	// frameworks override the method.
	Turned bool
	Limits
}

// Limits are the limits of the lines that allow an effect.
type Limits struct {
	// Body is, for net, the maximum size of a request body in bytes; 0 is no limit.
	Body int64
	// Idempotent means, for net, that a request with unknown outcome may be sent again.
	Idempotent bool
	// Calls and Tokens are, for sampling, the total limits of one call.
	Calls, Tokens int
	// Size is, for kv, the size limit of the plugin's store in bytes.
	Size int64
	// Direct means, for fs, that the line that decided allows files to be written in place.
	Direct bool
	// Quota and Files limit, for fs, the bytes and the number of files that one call may write under the line that
	// decided; 0 is no limit.
	Quota int64
	Files int
}

// add adds a line that covers the effect to the decision.
func (d *Decision) add(g *Grant) {
	if g.Ask {
		if !d.Allowed && d.Grant == nil {
			d.Ask, d.Grant = true, g
		}
		return
	}
	first := !d.Allowed
	if first {
		d.Allowed, d.Ask, d.Grant = true, false, g
	}
	if address := g.address(); address.named() {
		if !d.Named {
			d.Grant = g // it decides where an address must be named
		}
		d.Named, d.Private = true, d.Private || address.private
	}
	if r, ok := g.rule.(limited); ok {
		r.limit(&d.Limits, first)
	}
}
