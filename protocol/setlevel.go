package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
)

// setLevel sets the log level of a legacy session.
func setLevel(ctx context.Context, r *request) ([]byte, error) {
	l, refusal := notify.ReadLevel(jsonraw.Get(r.call.Params, "level"))
	if refusal != nil {
		return nil, refusal
	}
	err := r.conn.change(ctx, func(s *SessionState) error {
		s.Level = l
		return nil
	})
	if err != nil {
		return nil, err
	}
	return jsonrpc.AppendResult(nil, r.call.ID, nil), nil
}
