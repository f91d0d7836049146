package hostfuncs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// asking sends a round. The error ends the call.
type asking func(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error)

// journaledRound asks a round, or replays its recorded answers. If the client cannot answer now, the call ends, and
// the round is the last entry of the journal.
func (g *Gate) journaledRound(ctx context.Context, round []runtime.Question, ask asking) []runtime.Answer {
	if len(round) == 0 {
		return nil
	}
	j := g.journal
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
		return refuseAll(len(round), g.diverged(err))
	}
	answers, err := ask(ctx, round)
	if errors.Is(err, ErrSuspended) {
		if g.calleesWrote() {
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
func (g *Gate) diverged(err error) error {
	if errors.Is(err, journal.ErrChanged) {
		return &runtime.EndError{Kind: runtime.KindConflict, Message: err.Error(), Err: err}
	}
	var unknown *journal.UnknownError
	if errors.As(err, &unknown) {
		return &runtime.EndError{Kind: runtime.KindUnavailable, Message: err.Error(), Err: err}
	}
	return &runtime.EndError{
		Kind:    runtime.KindGuest,
		Message: "plugin " + g.policy.plugin.Name + " does not do the same when it is run again after a question: " + err.Error(),
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

// journaled performs a request, or replays its recorded answer.
func (g *Gate) journaled(ctx context.Context, name string, params json.RawMessage, s runtime.Streams, serve method) (json.RawMessage, error) {
	j := g.journal
	if _, client := g.policy.host.questions[name]; j == nil || client { // questions are journaled per round
		return serve(g, ctx, params, s)
	}
	if strings.HasPrefix(name, "notifications/") {
		if j.Replaying() { // already sent in an earlier run
			return json.RawMessage("{}"), nil
		}
		return serve(g, ctx, params, s)
	}
	if name == "secrets/get" { // the value is read again, never journaled
		return serve(g, ctx, params, s)
	}
	if strings.HasPrefix(name, "kv/") {
		result, err := serve(g, ctx, params, s)
		j.Observe([]byte(name), params, encodeAnswers([]runtime.Answer{{Result: result, Err: err}}))
		return result, err
	}
	if name == "http/fetch" {
		return g.journaledFetch(ctx, params, s)
	}
	outcome, replay, err := j.Next(name, params)
	switch {
	case err != nil:
		return nil, g.diverged(err)
	case replay && len(outcome) > 0 && outcome[0] == keptWrote:
		return nil, lostWrites()
	case replay:
		a := decodeAnswers(outcome, 1)[0]
		return a.Result, a.Err
	}
	if name == "tools/call" {
		called, _ := jsonraw.String(jsonraw.Get(params, "name"))
		if err := g.begin(ctx, "the call of "+cut(called, maxMethod), name, params); err != nil {
			return nil, err
		}
	}
	result, err := serve(g, ctx, params, s)
	if !g.unknown(ctx, err) {
		outcome := encodeAnswers([]runtime.Answer{{Result: result, Err: err}})
		if name == "tools/call" && g.calleesWrote() {
			outcome = []byte{keptWrote}
		}
		j.Record(outcome, name, params)
	}
	return result, err
}

// begin records an upcoming change in a journal that outlives this process.
func (g *Gate) begin(ctx context.Context, what, family string, request ...[]byte) error {
	if err := g.alive(ctx); err != nil {
		return err
	}
	if log := g.policy.host.audit; log != nil && g.journal.Kept() { // so that a crash loses no earlier audit entries
		if err := log.Sync(); err != nil {
			g.policy.host.logger.Error("the audit log cannot be brought to the disk", "call", g.call.ID, "error", err)
		}
	}
	if err := g.journal.Begin(what, family, request...); err != nil {
		return g.unnoted(err)
	}
	return nil
}

// unknown reports whether an error means only that the call was interrupted: a persistent journal must not record it
// as the outcome.
func (g *Gate) unknown(ctx context.Context, err error) bool {
	return err != nil && g.journal.Kept() && g.alive(ctx) != nil
}
