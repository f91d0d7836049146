package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Client is the running call's connection to its caller. Its methods return at once, and are called from the guest's
// goroutine only, never after the gate is closed. Params are the guest's own.
type Client interface {
	// Progress forwards a progress notification. The gate forwards increasing values only.
	Progress(ctx context.Context, params json.RawMessage)
	// Message forwards a log message, with one of MCP's levels.
	Message(ctx context.Context, params json.RawMessage)
}

// DenialListener is implemented by a Client that takes each denial when it happens.
type DenialListener interface {
	Denied(*runtime.AskError)
}

// RetryListener is implemented by a Client that takes retry delays of failures.
type RetryListener interface {
	// RetryAfter takes the delay of a server or a host limit, in milliseconds.
	RetryAfter(ms int64)
}

// Asker is implemented by a Client that accepts questions while the call runs.
type Asker interface {
	// Ask sends the questions to the client as one round and waits for the answers, equal in number and order. An
	// answer's Err is a *runtime.AskError: the client does not support the question, or refused it. A returned error
	// concerns the whole round and ends the call. The questions are checked and name the plugin. Ask runs on the
	// guest's goroutine, one round at a time.
	Ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error)
}

// session is the exchange of a call with its caller. Only the guest's goroutine uses it, except trace.
type session struct {
	host *Host
	call *Call
	span span

	logged   int     // bytes of log messages
	progress float64 // greatest value reported
	moved    bool    // progress is set
	model    modelUse
}

// isLocal reports whether a principal is a process of this machine, not an HTTP caller.
func isLocal(principal string) bool {
	return principal == "cli" || strings.HasPrefix(principal, "stdio:") || strings.HasPrefix(principal, "socket:")
}

// local reports whether the caller is a process of this machine.
func (s *session) local() bool { return isLocal(s.call.Principal) }

// here reports whether the caller is on this machine and may learn host paths. Anonymous callers count: without
// tokens a host serves loopback and unix sockets only.
func (s *session) here() bool { return s.local() || s.call.Principal == identity.Anonymous }

// flags returns the command-line flags that locate this host's files; empty for callers that must not learn these
// paths.
func (s *session) flags() string {
	if s.here() {
		return s.host.options.Flags
	}
	return ""
}

// command returns the command line that acts on questions. Only callers of this machine learn the location of the
// host's state.
func (s *session) command(words ...string) string {
	if s.here() {
		return s.host.options.Operator.Command(words...)
	}
	return strings.Join(append([]string{"sallyport"}, words...), " ")
}

// notice tells the client why the call waits.
func (s *session) notice(ctx context.Context, text string) {
	if s.call.Client != nil {
		params := append(jsonraw.AppendString([]byte(`{"level":"notice","logger":"sallyport","data":`), text), '}')
		s.call.Client.Message(ctx, params)
	}
}

// denied reports a denial.
func (s *session) denied(err *runtime.AskError) {
	if l, ok := s.call.Client.(DenialListener); ok {
		l.Denied(err)
	}
}

// retryAfter reports the delay after which a failed request may succeed; zero is unknown.
func (s *session) retryAfter(ms int64) {
	if l, ok := s.call.Client.(RetryListener); ok && ms > 0 {
		l.RetryAfter(ms)
	}
}

// ask sends a round to the client. The error ends the call.
func (s *session) ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	c, ok := s.call.Client.(Asker)
	if !ok {
		return refuseAll(len(round), askErrorf(runtime.KindUnsupported, "this call cannot ask questions")), nil
	}
	answers, err := c.Ask(ctx, round)
	switch {
	case err == nil && len(answers) != len(round):
		return nil, errors.New("the client's answers are not as many as the questions")
	case err != nil && over(ctx) != nil:
		return refuseAll(len(round), over(ctx)), nil
	}
	return answers, err
}

// inner returns the client for nested calls. With a journal, a question ends the call, which is replayed with the
// answer. Nested calls then cannot ask, because the journal holds only their outcome, not their steps.
func (s *session) inner() Client {
	if s.call.Journal == nil || s.call.Client == nil {
		return s.call.Client
	}
	return unasked{s.call.Client}
}

// unasked is a client that receives a call's messages but no questions.
type unasked struct{ Client }

// Denied forwards a denial.
func (u unasked) Denied(e *runtime.AskError) {
	if l, ok := u.Client.(DenialListener); ok {
		l.Denied(e)
	}
}

// takeLog counts bytes of log messages. ok is false beyond the limit, and crossed at the first message beyond it.
func (s *session) takeLog(n int) (ok, crossed bool) {
	before := s.logged
	s.logged = min(before+n, maxLogged+1)
	return s.logged <= maxLogged, before <= maxLogged && s.logged > maxLogged
}

// advance keeps the greatest value of progress and reports whether this is it.
func (s *session) advance(value float64) bool {
	if s.moved && value <= s.progress {
		return false
	}
	s.moved, s.progress = true, value
	return true
}

// modelUse counts a call's use of the client's model.
type modelUse struct {
	calls, tokens int
}

// spend counts one request against the limits of a grant.
func (m *modelUse) spend(d grant.Decision, tokens int) error {
	switch {
	case m.calls >= d.Calls:
		return askErrorf(runtime.KindLimit, "the call has asked the client's model %d times, which is all that is granted", d.Calls)
	case tokens > d.Tokens-m.tokens:
		return askErrorf(runtime.KindLimit, "%d tokens are more than the %d that the call may still use of the client's model",
			tokens, d.Tokens-m.tokens)
	}
	m.calls++
	m.tokens += tokens
	return nil
}
