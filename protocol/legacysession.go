package protocol

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// legacySession is the state that initialize begins on a connection. It is safe for concurrent use.
type legacySession struct {
	mu      sync.Mutex                   // of changes of the state
	state   atomic.Pointer[SessionState] // never nil
	once    sync.Once
	readied chan struct{} // closed once, when the client is first ready
	desk    inputrequest.Desk
}

// version returns the agreed protocol version, or "" before initialize.
func (s *legacySession) version() string { return s.state.Load().Version }

// readyTime is the time limit for notifications/initialized when a call asks.
const readyTime = 5 * time.Second

// awaitReady waits for notifications/initialized. Before it, the server sends no requests in a session.
func (s *legacySession) awaitReady(ctx context.Context) error {
	select {
	case <-s.readied:
		return nil
	default:
	}
	late := time.NewTimer(readyTime)
	defer late.Stop()
	select {
	case <-s.readied:
		return nil
	case <-late.C:
		return &runtime.AskError{Kind: runtime.KindUnavailable, Message: "the client has not said that it is ready (notifications/initialized)"}
	case <-ctx.Done():
		return &runtime.AskError{Kind: runtime.KindUnavailable, Message: "the call is over"}
	}
}

// declared returns the client's capabilities for questions.
func (s *legacySession) declared() inputrequest.Abilities {
	return inputrequest.Declared(s.state.Load().Capabilities)
}

// threshold returns the lowest log level to send.
func (s *legacySession) threshold() notify.Level {
	if l := s.state.Load().Level; l != notify.Unset {
		return l
	}
	return notify.DefaultLevel
}

// ask sends one request per question by tell and waits for all answers. newID returns unique ids.
func (s *legacySession) ask(ctx context.Context, round []runtime.Question, tell func(...[]byte), newID func() string) []runtime.Answer {
	answers := make([]runtime.Answer, len(round))
	if err := s.awaitReady(ctx); err != nil {
		for i := range answers {
			answers[i].Err = err
		}
		return answers
	}
	waits := make([]*inputrequest.Sent, len(round))
	declared := s.declared()
	for i, q := range round {
		if refused := declared.Undeclared(q); refused != nil {
			answers[i].Err = refused
			continue
		}
		waits[i], answers[i].Err = s.desk.Send(q.Method, s.fit(q, declared, newID), tell)
	}
	for i, w := range waits {
		if w != nil {
			answers[i] = w.Wait(ctx)
			answers[i].Result = inputrequest.Restore(round[i].Params, answers[i].Result, s.version())
		}
	}
	return answers
}

// fit returns the params of a question in the form of the agreed version. URL-mode elicitation requires an
// elicitationId since 2025-11-25.
func (s *legacySession) fit(q runtime.Question, declared inputrequest.Abilities, newID func() string) json.RawMessage {
	version := s.version()
	params := declared.Fit(q, version)
	o, err := jsonraw.ParseObject(params)
	if err != nil || version < envelope.V20251125 || o.Get("url") == nil || q.Method != "elicitation/create" {
		return params
	}
	o.Set("elicitationId", jsonraw.AppendString(nil, newID()))
	return o.Append(nil)
}
