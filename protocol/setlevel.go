package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
)

// setLevel sets the log level of a legacy session.
func setLevel(_ context.Context, r *request) ([]byte, error) {
	l, err := notify.ReadLevel(jsonraw.Get(r.call.Params, "level"))
	if err != nil {
		return nil, err
	}
	r.conn.legacy.level.Store(int32(l))
	return jsonrpc.AppendResult(nil, r.call.ID, nil), nil
}
