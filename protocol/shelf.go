package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/result"
)

// keepWhole stores an answer that is too large for the caller and returns its URI, or "" if it cannot be stored.
func (s *Server) keepWhole(ctx context.Context, principal, call string, o jsonraw.Object) string {
	if !identity.Named(principal) {
		return ""
	}
	uri, err := s.shelf().Put(ctx, principal, o)
	if err != nil {
		s.log.Warn("an answer that is too large cannot be kept", "call", call, "error", err)
	}
	return uri
}

// shelf returns the store of answers that were too large to send.
func (s *Server) shelf() result.Shelf { return result.Shelf{Store: s.opts.Store} }

// readWhole serves resources/read for a stored answer.
func readWhole(ctx context.Context, r *request, uri string) ([]byte, error) {
	o, ok := r.server.shelf().Page(ctx, r.conn.opts.Principal, uri)
	if !ok {
		return nil, r.resourceNotFound("unknown resource")
	}
	return r.frame(o, true), nil
}
