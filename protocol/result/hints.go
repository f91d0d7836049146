package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Hints collect the gate's reports during a call, for the text of a failed call. They are not safe for concurrent
// use.
type Hints struct {
	denied  []*runtime.AskError // different denied effects, at most maxDenied
	last    *runtime.AskError   // last denied effect
	denials int                 // number of denials, without repetitions
	later   int64               // delay before a retry, in ms; 0 means unknown
}

// maxDenied limits the denied effects of which one can be the cause of a failure.
const maxDenied = 64

// Denied records a denied effect.
func (h *Hints) Denied(e *runtime.AskError) {
	if h.last == nil || h.last.Message != e.Message { // not a retry
		h.denials++
	}
	h.last = e
	same := func(o *runtime.AskError) bool { return o.Message == e.Message }
	if len(h.denied) < maxDenied && !slices.ContainsFunc(h.denied, same) {
		h.denied = append(h.denied, e)
	}
}

// cause returns the denied effect that a failure text is about: the last one that it quotes, since a plugin may handle a
// denial and go on, or else the first, since later ones usually follow from it. It is nil if nothing was denied.
func (h *Hints) cause(said string) *runtime.AskError {
	for _, e := range slices.Backward(h.denied) {
		if strings.Contains(said, firstLine(e.Message)) {
			return e
		}
	}
	if len(h.denied) == 0 {
		return nil
	}
	return h.denied[0]
}

// RetryAfter records the delay before a failed operation may be retried, in ms.
func (h *Hints) RetryAfter(ms int64) { h.later = max(h.later, ms) }

// Learn records the denials in the error of a call, unless the gate has already reported some.
func (h *Hints) Learn(err error) {
	if h.last != nil {
		return
	}
	var ask *runtime.AskError
	if errors.As(err, &ask) && ask.Kind == runtime.KindDenied {
		h.Denied(ask)
		return
	}
	var f *catalog.Failure
	if errors.As(err, &f) {
		for _, d := range f.Denials {
			h.Denied(&runtime.AskError{Kind: runtime.KindDenied, Message: d})
		}
	}
}

// Complete sets the retry delay of a failure if it has the same cause.
func (h *Hints) Complete(f *Failure) {
	if f.RetryAfterMs == 0 && f.Kind != runtime.KindInvalid && f.Kind != runtime.KindDenied {
		f.RetryAfterMs = h.later
	}
}

// Own returns the host's knowledge about a failure reported by the tool: a denied effect, or a retry delay of a
// server. It is nil if there is none. said is the text of the failure.
func (h *Hints) Own(said string) *Failure {
	switch {
	case h.last != nil:
		return &Failure{Kind: runtime.KindDenied, RetryAfterMs: h.cause(said).RetryAfterMs}
	case h.later > 0:
		return &Failure{Kind: runtime.KindUnavailable, RetryAfterMs: h.later}
	}
	return nil
}

// Behind appends the hint of the denial to an error text, which has no content blocks for it.
func (h *Hints) Behind(text string) string {
	denial := h.cause(text)
	if denial == nil || denial.Hint == "" {
		return text
	}
	return text + "; " + toDo(denial.Hint)
}

// Block returns a text block of at most three lines with the denied effect and the grant it needs, or nil if said
// contains it already. Sentences in said are not repeated.
func (h *Hints) Block(said string) json.RawMessage {
	denial := h.cause(said)
	if denial == nil {
		return nil
	}
	var lines []string
	if !strings.Contains(said, denial.Message) {
		lines = append(lines, "refused: "+firstLine(denial.Message))
	}
	if denial.Hint != "" {
		lines = append(lines, toDo(denial.Hint))
	}
	if others := h.denials - 1; others > 0 {
		lines = append(lines, fmt.Sprintf("and %d more refused in this call: sallyport learn PLUGIN lists the lines that it needs", others))
	}
	if lines == nil {
		return nil
	}
	return Text(strings.Join(lines, "\n"))
}

// toDo adds the purpose to a hint. Answering a form grants nothing.
func toDo(hint string) string {
	if strings.HasPrefix(hint, "sallyport answer ") {
		return "to answer it, with its fields as FIELD=VALUE behind: " + firstLine(hint)
	}
	if strings.HasPrefix(hint, "sallyport secret set ") {
		return "the operator sets it with: " + firstLine(hint)
	}
	return "to allow it: " + firstLine(hint)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
