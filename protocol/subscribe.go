package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// subscribe serves resources/subscribe of a legacy session.
func subscribe(ctx context.Context, r *request) ([]byte, error) {
	uri, err := r.call.Text("uri")
	if err != nil {
		return nil, err
	}
	if !r.hasResource(ctx, uri) {
		return nil, r.resourceNotFound("unknown resource" + r.soFar())
	}
	if err := r.conn.change(ctx, func(s *SessionState) error { return s.subscribe(uri) }); err != nil {
		return nil, err
	}
	return jsonrpc.AppendResult(nil, r.call.ID, nil), nil
}

// unsubscribe serves resources/unsubscribe of a legacy session. An unknown subscription is not an error.
func unsubscribe(ctx context.Context, r *request) ([]byte, error) {
	uri, err := r.call.Text("uri")
	if err != nil {
		return nil, err
	}
	err = r.conn.change(ctx, func(s *SessionState) error {
		delete(s.Resources, uri)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return jsonrpc.AppendResult(nil, r.call.ID, nil), nil
}
