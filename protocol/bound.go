package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// bound shortens an answer over the limit. Text is cut and marked. Answers with structured content or data are
// replaced, as a part of them would be meaningless. The full answer is stored for the caller.
func (r *request) bound(ctx context.Context, o *jsonraw.Object, b result.Bound) {
	size := result.Size(*o)
	if b.Bytes <= 0 || size <= b.Bytes {
		return
	}
	uri := r.keepWhole(ctx, *o)
	if result.Divisible(*o) {
		result.Cut(o, b, uri)
		return
	}
	f := &result.Failure{Kind: runtime.KindLimit, Text: result.TooLarge(size, b)}
	result.Replace(o, r.subject+": "+f.Text, uri)
	untrusted.SetMeta(o, result.ErrorMeta, f.Data(r.callID))
}

// keepWhole stores an answer for the caller and returns its URI, or "" if it cannot be stored.
func (r *request) keepWhole(ctx context.Context, o jsonraw.Object) string {
	if r.conn.opts.Principal == anonymous {
		return ""
	}
	uri, err := r.server.shelf().Put(ctx, r.conn.opts.Principal, o)
	if err != nil {
		r.server.log.Warn("an answer that is too large cannot be kept", "call", r.callID, "error", err)
	}
	return uri
}

// shelf returns the store of answers that were too large to send.
func (s *Server) shelf() result.Shelf { return result.Shelf{Store: s.opts.Store} }

// readWhole serves resources/read for a stored answer.
func (r *request) readWhole(ctx context.Context, uri string) ([]byte, error) {
	o, ok := r.server.shelf().Page(ctx, r.conn.opts.Principal, uri)
	if !ok {
		return nil, r.resourceNotFound("unknown resource")
	}
	return r.frame(o, true), nil
}
