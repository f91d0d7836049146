package hostfuncs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// replay ties a call to its journal: it replays the outcomes of earlier runs, and records new ones. Only the guest's
// goroutine uses it.
type replay struct {
	policy *Policy
	call   *Call
	life   *lifetime
	writes *writes
	// journal is nil if the plugin cannot ask.
	journal *journal.Journal
	tape    *tape
}

// asking sends a round. The error ends the call.
type asking func(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error)

// round asks a round, or replays its recorded answers. If the client cannot answer now, the call ends, and
// the round is the last entry of the journal.
func (r *replay) round(ctx context.Context, round []runtime.Question, ask asking) []runtime.Answer {
	if len(round) == 0 {
		return nil
	}
	if r.call.Trial != nil {
		return r.tape.answers(round)
	}
	answers := r.journaled(ctx, round, ask)
	r.tape.asked(round, answers)
	return answers
}

// journaled is round with the journal of the call.
func (r *replay) journaled(ctx context.Context, round []runtime.Question, ask asking) []runtime.Answer {
	j := r.journal
	if j == nil {
		answers, err := ask(ctx, round)
		if err != nil {
			return refuseAll(len(round), err)
		}
		return answers
	}
	family, text := roundFamily(round), roundText(round)
	outcome, replay, err := j.Next(family, text)
	if err == nil && replay {
		return decodeAnswers(outcome, len(round))
	}
	if err != nil {
		return refuseAll(len(round), r.diverged(err))
	}
	answers, err := ask(ctx, round)
	if errors.Is(err, ErrSuspended) {
		if r.writes.calleesWrote() {
			return refuseAll(len(round), askErrorf(runtime.KindLimit, "the call can ask nothing any more: "+
				"a tool that it called has written something, which lasts when this call has succeeded"))
		}
		if full := j.Open(family, text); full != nil {
			return refuseAll(len(round), askErrorf(runtime.KindLimit, "%v", full))
		}
	}
	if err != nil {
		return refuseAll(len(round), err)
	}
	j.Record(encodeAnswers(answers), family, text)
	return answers
}

// ErrSuspended is wrapped by the error with which an Asker ends a call that is to be replayed when the answers
// arrive.
var ErrSuspended = errors.New("the call waits for answers")

// diverged returns the error that ends a call after its replay differs from its first run.
func (r *replay) diverged(err error) error {
	if errors.Is(err, journal.ErrChanged) {
		return &runtime.EndError{Kind: runtime.KindConflict, Message: err.Error(), Err: err}
	}
	var unknown *journal.UnknownError
	if errors.As(err, &unknown) {
		return &runtime.EndError{Kind: runtime.KindUnavailable, Message: err.Error(), Err: err}
	}
	return &runtime.EndError{
		Kind:    runtime.KindGuest,
		Message: "plugin " + r.policy.plugin.Name + " does not do the same when it is run again after a question: " + err.Error(),
		Err:     err,
	}
}

// roundText encodes the questions of a round, for the journal.
func roundText(round []runtime.Question) []byte {
	var dst []byte
	for _, q := range round {
		dst = append(jsonraw.AppendString(dst, q.Method), ' ')
		dst = append(jsonraw.AppendString(dst, q.Key), ' ')
		dst = append(append(dst, q.Params...), '\n')
	}
	return dst
}

// Kinds of answers in a journal, as their first byte.
const (
	keptResult = 'r'
	keptError  = 'e'
	keptWrote  = 'w' // of a tool call that left pending writes of callees; stands before the others
)

// encodeAnswers writes each answer as its kind, its length and its text.
func encodeAnswers(answers []runtime.Answer) (dst []byte) {
	for _, a := range answers {
		kind, text := byte(keptResult), []byte(a.Result)
		if a.Err != nil {
			kind = keptError
			text, _ = json.Marshal(asAskError(a.Err)) // cannot fail: strings and numbers
		}
		dst = binary.AppendUvarint(append(dst, kind), uint64(len(text)))
		dst = append(dst, text...)
	}
	return dst
}

// decodeAnswers decodes n answers.
func decodeAnswers(raw []byte, n int) []runtime.Answer {
	answers := make([]runtime.Answer, n)
	for i := range answers {
		if len(raw) == 0 {
			return refuseAll(n, unreadable())
		}
		kind := raw[0]
		size, k := binary.Uvarint(raw[1:])
		if raw = raw[1:]; k <= 0 || size > uint64(len(raw)-k) {
			return refuseAll(n, unreadable())
		}
		text := raw[k : k+int(size)]
		raw = raw[k+int(size):]
		if kind == keptResult {
			answers[i].Result = text
			continue
		}
		e := &runtime.AskError{}
		if json.Unmarshal(text, e) != nil {
			e = unreadable()
		}
		answers[i].Err = e
	}
	return answers
}

func unreadable() *runtime.AskError {
	return askErrorf(runtime.KindUnavailable, "the journal of the call cannot be read")
}

// entry is the journal's record of one effect: its request, and the conversion of its outcome.
type entry struct {
	method  string
	request [][]byte
	key     string // idempotency key of a change, set before it is performed
	// encode returns the outcome of the effect, which failed with err or succeeded. With incomplete, only a part of
	// the outcome is known.
	encode func(err error) (outcome []byte, incomplete error)
	// decode restores the outcome, and returns the error of the effect.
	decode func(outcome []byte) error
}

// answerEntry returns the record of a method with a JSON result.
func answerEntry(method string, params json.RawMessage, result *json.RawMessage) *entry {
	return &entry{
		method: method, request: [][]byte{params},
		encode: func(err error) ([]byte, error) {
			return encodeAnswers([]runtime.Answer{{Result: *result, Err: err}}), nil
		},
		decode: func(outcome []byte) error {
			a := decodeAnswers(outcome, 1)[0]
			*result = a.Result
			return a.Err
		},
	}
}

// next returns the recorded outcome of an effect. An effect that was perhaps performed is performed again only if it
// is idempotent. The error ends the call.
func (r *replay) next(e *entry, idempotent func() bool) (outcome []byte, replayed bool, err error) {
	outcome, replayed, err = r.journal.Next(e.method, e.request...)
	var unknown *journal.UnknownError
	if errors.As(err, &unknown) && idempotent() {
		r.journal.Retry()
		return nil, false, nil
	}
	if err != nil {
		return nil, false, r.diverged(err)
	}
	return outcome, replayed, nil
}

// record records the outcome of an effect, and returns its error.
func (r *replay) record(ctx context.Context, e *effect, err error) error {
	if r.unknown(ctx, err) {
		return err
	}
	outcome, incomplete := e.entry.encode(err)
	if r.unknown(ctx, incomplete) {
		return incomplete
	}
	r.journal.Record(outcome, e.entry.method, e.entry.request...)
	r.tape.add(e, outcome, err)
	return err
}

// observe adds the outcome of an effect that later runs perform again: it must be the same then.
func (r *replay) observe(e *entry, err error) {
	outcome, _ := e.encode(err)
	r.journal.Observe(append(append([][]byte{[]byte(e.method)}, e.request...), outcome)...)
}

// begin records an upcoming change in a journal that outlives this process.
func (r *replay) begin(ctx context.Context, what, family string, request ...[]byte) error {
	if err := r.life.alive(ctx); err != nil {
		return err
	}
	if log := r.policy.host.options.Audit; log != nil && r.journal.Kept() { // so that a crash loses no earlier audit entries
		if err := log.Sync(); err != nil {
			r.policy.host.options.Logger.Error("the audit log cannot be brought to the disk", "call", r.call.ID, "error", err, r.call.Trace.Attr())
		}
	}
	if err := r.journal.Begin(what, family, request...); err != nil {
		return r.unnoted(err)
	}
	return nil
}

// unknown reports whether an error means only that the call was interrupted: a persistent journal must not record it
// as the outcome.
func (r *replay) unknown(ctx context.Context, err error) bool {
	return err != nil && r.journal.Kept() && r.life.alive(ctx) != nil
}

// unnoted returns the error for a change that could not be recorded.
func (r *replay) unnoted(err error) error {
	r.policy.host.options.Logger.Error("the journal of a call cannot be written", "plugin", r.policy.plugin.Name, "call", r.call.ID, "error", err, r.call.Trace.Attr())
	return askErrorf(runtime.KindUnavailable, "the host cannot write its journal, so nothing was changed")
}

// recalled is the family of journal entries for the operator's answers. Replays use these entries: by then a one-time
// answer is used up, and others may have expired or been added.
const recalled = "the operator's answer"

// recall returns the result of live from the first run of the call; a nil result is not recorded.
func (r *replay) recall(about string, live func() []byte) []byte {
	j := r.journal
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
			r.life.noteEnd(r.diverged(err))
			return nil
		}
		j.Record(found, recalled, []byte(about))
		return found
	}
	found, _, err := j.Next(recalled, []byte(about))
	if err != nil {
		r.life.noteEnd(r.diverged(err))
	}
	return found
}

// lostWrites returns the error for a replay after nested calls with writes: they do not run again, and their writes
// were lost with the first run.
func lostWrites() *runtime.EndError {
	return &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the call cannot continue: the uncommitted writes of a tool that it called were lost in an interruption, and nothing was written"}
}
