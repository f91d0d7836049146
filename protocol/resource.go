package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// readResource serves resources/read.
func readResource(ctx context.Context, r *request) ([]byte, error) {
	if err := r.call.CheckKeys(); err != nil {
		return nil, err
	}
	uri, err := r.call.Text("uri")
	if err != nil {
		return nil, err
	}
	if result.Holds(uri) {
		return readWhole(ctx, r, uri)
	}
	reader, _, ok := find(ctx, r, func(s *catalog.Snapshot) (catalog.Reader, bool) { return s.Resource(uri) })
	if !ok {
		return nil, r.resourceNotFound("unknown resource" + r.soFar())
	}
	call, err := r.forward(uri)
	if err != nil {
		return nil, err
	}
	o, err := runResumable(ctx, r, reader, call, parsed(reader.Read, result.Resource))
	if err != nil {
		return nil, err
	}
	return r.reply(o, true), nil
}
