package hostfuncs

import (
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/trace"
)

// span is the call's child of the trace context of its caller, made on first use. The guest sees the caller's context,
// and neither sees nor chooses its child.
type span struct {
	once sync.Once
	own  *trace.Context
}

// trace returns the trace context that the call passes on.
func (s *session) trace() trace.Context {
	s.span.once.Do(func() {
		own := s.call.Trace.Child()
		s.span.own = &own
	})
	return *s.span.own
}

// traceLine appends the trace to a line of the audit log. It omits the client's baggage, which may contain personal
// data.
func (s *session) traceLine(b []byte) []byte {
	given := &s.call.Trace
	if given.Parent == "" {
		return b
	}
	b = text(b, `,"traceparent":`, given.Parent)
	if given.State != "" {
		b = text(b, `,"tracestate":`, given.State)
	}
	return text(b, `,"span":`, s.trace().Span())
}

func text(b []byte, key, value string) []byte { return jsonraw.AppendString(append(b, key...), value) }
