package failure

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/answer"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Hints are what the gate told during a call, for the text of one that fails. They are not safe for concurrent use.
type Hints struct {
	denial  *runtime.AskError // the first effect that the gate refused
	denials int               // how many there were
	denied  *runtime.AskError // the last
	later   int64             // milliseconds until something that failed may be tried again; 0 is not known
}

// Denied takes in that an effect was refused.
func (h *Hints) Denied(e *runtime.AskError) {
	if h.denial == nil {
		h.denial = e // what a guest tries next, it tries for want of this
	}
	if h.denied == nil || h.denied.Message != e.Message { // it tries again
		h.denials++
	}
	h.denied = e
}

// RetryAfter takes in when something that failed may be tried again, in milliseconds.
func (h *Hints) RetryAfter(ms int64) { h.later = max(h.later, ms) }

// Learn takes from a failed call what it was refused, unless the gate has told before.
func (h *Hints) Learn(err error) {
	if h.denial != nil {
		return
	}
	var ask *runtime.AskError
	if errors.As(err, &ask) && ask.Kind == runtime.KindDenied {
		h.Denied(ask)
		return
	}
	var f *catalogue.Failure
	if errors.As(err, &f) {
		for _, d := range f.Denials {
			h.Denied(&runtime.AskError{Kind: runtime.KindDenied, Message: d})
		}
	}
}

// Complete adds to a failure when to try again, where that is for the same reason.
func (h *Hints) Complete(f *Failure) {
	if f.RetryAfterMs == 0 && f.Kind != runtime.KindInvalid && f.Kind != runtime.KindDenied {
		f.RetryAfterMs = h.later
	}
}

// Own is what the host knows about a failure that the tool itself tells: that it was refused something, or that a
// server asked to be left alone for a while; nil if it knows nothing.
func (h *Hints) Own() *Failure {
	switch {
	case h.denial != nil:
		return &Failure{Kind: runtime.KindDenied, RetryAfterMs: h.denial.RetryAfterMs}
	case h.later > 0:
		return &Failure{Kind: runtime.KindUnavailable, RetryAfterMs: h.later}
	}
	return nil
}

// Behind is a text with what would allow what was refused, for an error, which has no content beside it.
func (h *Hints) Behind(text string) string {
	if h.denial == nil || h.denial.Hint == "" {
		return text
	}
	return text + "; " + toDo(h.denial.Hint)
}

// Block is a text block that says what the gate refused during the call and what would allow it, in three lines at
// most; nil if there is nothing to add to what was said. A sentence that was said is not said again.
func (h *Hints) Block(said string) json.RawMessage {
	if h.denial == nil {
		return nil
	}
	var lines []string
	if !strings.Contains(said, h.denial.Message) {
		lines = append(lines, "refused: "+firstLine(h.denial.Message))
	}
	if h.denial.Hint != "" {
		lines = append(lines, toDo(h.denial.Hint))
	}
	if others := h.denials - 1; others > 0 {
		lines = append(lines, fmt.Sprintf("and %d more refused in this call: sallyport learn PLUGIN lists the lines that it needs", others))
	}
	if lines == nil {
		return nil
	}
	return answer.Text(strings.Join(lines, "\n"))
}

// toDo is a hint with its purpose: an answer to a form allows nothing.
func toDo(hint string) string {
	if strings.HasPrefix(hint, "sallyport answer ") {
		return "to answer it, with its fields as FIELD=VALUE behind: " + firstLine(hint)
	}
	return "to allow it: " + firstLine(hint)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
