package hostfuncs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// recalled is the family of the entries that say what the operator had answered. A later run of the call goes by them:
// an answer for once is used up by then, another may have expired, or come between.
const recalled = "the operator's answer"

// recall returns what live found when the call came by here for the first time; nil is nothing, which is not noted.
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

// said is a decision about an effect that no line allows, as the journal keeps it.
type said struct {
	Line   string        `json:"line,omitempty"` // that allows it; empty if it is refused
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

// eachRun reports whether effects of a family are decided in each run of a call. Requests and calls of tools are
// answered from the journal as a whole, and of files only what is allowed is noted: they are refused all the time.
func eachRun(family string) bool {
	return family != string(grant.Net) && family != string(grant.Tools) && family != string(grant.FS)
}

// consult looks for the operator's answer about an effect that was refused, and asks for one: once for all runs of the
// call. The decision is good if there is no refusal.
func (g *Gate) consult(ctx context.Context, e effect, d grant.Decision, r *refusal) (grant.Decision, *refusal) {
	if g.journal == nil || !eachRun(e.family) || !g.policy.consults() {
		return g.consultNow(ctx, e, d, r)
	}
	raw := g.recall(binding(e), func() []byte {
		_, no := g.consultNow(ctx, e, d, r)
		s := said{Line: g.consents.line}
		if no != nil {
			s = saidNo(no)
		}
		text, err := json.Marshal(s)
		if err != nil {
			return nil // texts
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
