package protocol

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/listing"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// checkArguments validates the arguments against the input schema. Invalid arguments are a tool error for the
// model, not a protocol error.
func checkArguments(v *listing.View, t *catalog.Tool, args json.RawMessage) error {
	if jsonraw.IsNull(args) {
		args = json.RawMessage("{}")
	}
	if !jsonraw.IsObject(args) {
		return jsonrpc.InvalidParams("params.arguments must be an object")
	}
	if v.Free(t) {
		return nil
	}
	input, err := t.Input()
	if err != nil {
		return &runtime.EndError{Kind: runtime.KindGuest, Message: "the tool's input schema cannot be used: " + err.Error(), Err: err}
	}
	if input == nil {
		return nil
	}
	if err := input.Validate(args); err != nil {
		return &runtime.EndError{Kind: runtime.KindInvalid, Message: "invalid arguments: " + err.Error(), Err: err}
	}
	return nil
}
