package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// ping serves ping.
func ping(_ context.Context, r *request) ([]byte, error) {
	return jsonrpc.AppendResult(nil, r.call.ID, nil), nil
}
