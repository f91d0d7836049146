package hostfuncs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// recalled is the family of journal entries for the operator's answers. Replays use these entries: by then a one-time
// answer is used up, and others may have expired or been added.
const recalled = "the operator's answer"

// recall returns the result of live from the first run of the call; a nil result is not recorded.
func (g *Gate) recall(about string, live func() []byte) []byte {
	j := g.journal
	switch {
	case j == nil:
		return live()
	case j.Replaying() && !j.Upcoming(recalled, []byte(about)):
		return nil
	case !j.Replaying():
		found := live()
		if found == nil {
			return nil
		}
		if _, _, err := j.Next(recalled, []byte(about)); err != nil {
			g.noteEnd(g.diverged(err))
			return nil
		}
		j.Record(found, recalled, []byte(about))
		return found
	}
	found, _, err := j.Next(recalled, []byte(about))
	if err != nil {
		g.noteEnd(g.diverged(err))
	}
	return found
}

// said is the journal entry of a decision about an effect that no line allows.
type said struct {
	Line   string        `json:"line,omitempty"` // the allowing line; empty if denied
	Reason string        `json:"reason,omitempty"`
	Needs  string        `json:"needs,omitempty"` // the line that would allow it
	Hint   string        `json:"hint,omitempty"`
	Final  bool          `json:"final,omitempty"`
	Kind   runtime.Kind  `json:"kind,omitempty"`
	Later  time.Duration `json:"later,omitempty"`
}

func saidNo(r *refusal) said {
	return said{Reason: r.reason, Needs: r.line, Hint: r.hint, Final: r.final, Kind: r.kind, Later: r.later}
}

func (s said) refusal() *refusal {
	return &refusal{reason: s.Reason, line: s.Needs, hint: s.Hint, final: s.Final, kind: s.Kind, later: s.Later}
}

// consult applies the operator's answer to a denied effect, and asks for one: once for all runs of the call. The
// decision is valid if the returned refusal is nil.
func (g *Gate) consult(ctx context.Context, e effect, d grant.Decision, r *refusal) (grant.Decision, *refusal) {
	if g.journal == nil || g.kind(e).replayed || !g.policy.consults() {
		return g.consultNow(ctx, e, d, r)
	}
	raw := g.recall(fingerprint(e), func() []byte {
		_, no := g.consultNow(ctx, e, d, r)
		s := said{Line: g.consents.line}
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
	if d = e.decide(g.grants.With(g.policy.lines(s.Line, g.call)...)); !d.Allowed {
		return d, r
	}
	return d, nil
}
