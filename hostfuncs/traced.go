package hostfuncs

import (
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/trace"
)

// traced is the position of a call in its client's trace, determined on first use.
type traced struct {
	once  sync.Once
	given trace.Context // the caller's; the guest sees it
	own   trace.Context // its child for the call; the guest neither sees nor chooses it
}

// trace returns the call's position in its client's trace. A replay has the trace context of its first request.
func (s *session) trace() *traced {
	t := &s.traced
	t.once.Do(func() {
		t.given = s.call.Trace
		t.own = t.given.Child()
	})
	return t
}

// line appends the trace to a line of the audit log. It omits the client's baggage, which may contain personal data.
func (t *traced) line(b []byte) []byte {
	if t.given.Parent == "" {
		return b
	}
	b = text(b, `,"traceparent":`, t.given.Parent)
	if t.given.State != "" {
		b = text(b, `,"tracestate":`, t.given.State)
	}
	return text(b, `,"span":`, t.own.Span())
}

func text(b []byte, key, value string) []byte { return jsonraw.AppendString(append(b, key...), value) }
