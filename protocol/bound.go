package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/meta"
	"github.com/sallyport-mcp/sallyport/protocol/answer"
	"github.com/sallyport-mcp/sallyport/protocol/failure"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// bound shortens an answer over the limit. Text is cut and marked. Answers with structured content or data are
// replaced, as a part of them would be meaningless. The full answer is stored for the caller.
func (r *request) bound(ctx context.Context, o *jsonraw.Object, b answer.Bound) {
	size := answer.Size(*o)
	if b.Bytes <= 0 || size <= b.Bytes {
		return
	}
	uri := r.keepWhole(ctx, *o)
	if answer.Divisible(*o) {
		answer.Cut(o, b, uri)
		return
	}
	f := &failure.Failure{Kind: runtime.KindLimit, Text: answer.TooLarge(size, b)}
	answer.Replace(o, r.subject+": "+f.Text, uri)
	meta.Set(o, failure.Meta, f.Data(r.call))
}

// keepWhole stores an answer for the caller and returns its URI, or "" if it cannot be stored.
func (r *request) keepWhole(ctx context.Context, o jsonraw.Object) string {
	if r.conn.opts.Principal == anonymous {
		return ""
	}
	uri, err := r.server.shelf().Put(ctx, r.conn.opts.Principal, o)
	if err != nil {
		r.server.log.Warn("an answer that is too large cannot be kept", "call", r.call, "error", err)
	}
	return uri
}

// shelf returns the store of answers that were too large to send.
func (s *Server) shelf() answer.Shelf { return answer.Shelf{Store: s.opts.Store} }

// readWhole serves resources/read for a stored answer.
func (r *request) readWhole(ctx context.Context, uri string) ([]byte, error) {
	o, ok := r.server.shelf().Page(ctx, r.conn.opts.Principal, uri)
	if !ok {
		return nil, r.resourceNotFound("unknown resource")
	}
	return r.frame(o, true), nil
}
