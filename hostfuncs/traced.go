package hostfuncs

import (
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/trace"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// traced is where a call is in its client's trace, found out when somebody wants to know.
type traced struct {
	once  sync.Once
	given trace.Context // by whoever made the call; the guest sees it
	own   trace.Context // with the call as the span, which the guest neither sees nor chooses
}

// trace returns where the call is in its client's trace. A call that is run again is where its first request was.
func (g *Gate) trace() *traced {
	t := &g.traced
	t.once.Do(func() {
		t.given = trace.Of(g.call.Params)
		t.own = t.given.Child()
	})
	return t
}

// line adds to a line of the audit log. What the client's program says in baggage is not among it: it may be about
// somebody.
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

func text(b []byte, key, value string) []byte { return rawjson.AppendString(append(b, key...), value) }
