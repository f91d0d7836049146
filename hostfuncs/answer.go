package hostfuncs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// said is the journal entry of a decision about an effect that no line allows.
type said struct {
	Line   string        `json:"line,omitempty"` // the allowing line; empty if denied
	Reason string        `json:"reason,omitempty"`
	Needs  string        `json:"needs,omitempty"` // the line that would allow it
	Hint   string        `json:"hint,omitempty"`
	Named  bool          `json:"named,omitempty"` // Hint names the caller
	Final  bool          `json:"final,omitempty"`
	Kind   runtime.Kind  `json:"kind,omitempty"`
	Later  time.Duration `json:"later,omitempty"`
}

func saidNo(r *refusal) said {
	return said{Reason: r.reason, Needs: r.line, Hint: r.hint, Named: r.named, Final: r.final, Kind: r.kind, Later: r.later}
}

func (s said) refusal() *refusal {
	return &refusal{reason: s.Reason, line: s.Needs, hint: s.Hint, named: s.Named, final: s.Final, kind: s.Kind, later: s.Later}
}

// decide evaluates the grants for an effect, then the answers of the operator and the caller.
func (c *consents) decide(ctx context.Context, e effect) (grant.Decision, *refusal) {
	c.taken = nil
	d, refused := c.rules.check(e)
	if refused == nil {
		return d, c.spend(ctx, d)
	}
	return c.consult(ctx, e, d, refused)
}

// consult applies the operator's answer to a denied effect, and asks for one: once for all runs of the call. The
// decision is valid if the returned refusal is nil.
func (c *consents) consult(ctx context.Context, e effect, d grant.Decision, r *refusal) (grant.Decision, *refusal) {
	if c.rules.replay.journal == nil || c.rules.kind(e).replay == replayRecorded || c.rules.kind(e).standing || !c.rules.policy.consults() {
		return c.consultNow(ctx, e, d, r)
	}
	raw := c.rules.replay.recall(fingerprint(e), func() []byte {
		_, no := c.consultNow(ctx, e, d, r)
		s := said{Line: c.line}
		if no != nil {
			s = saidNo(no)
		}
		text, err := json.Marshal(s)
		if err != nil {
			return nil // cannot fail: strings
		}
		return text
	})
	var s said
	switch err := json.Unmarshal(raw, &s); {
	case err != nil:
		return d, r
	case s.Line == "":
		return d, s.refusal()
	}
	if d = e.decide(c.rules.grants.With(c.rules.lines(s.Line)...)); !d.Allowed {
		return d, r
	}
	return d, nil
}
