package hostfuncs

import (
	"sync"

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
	if s.call.Trace.Parent == "" {
		return s.call.Trace
	}
	s.span.once.Do(func() {
		own := s.call.Trace.Child()
		s.span.own = &own
	})
	return *s.span.own
}
