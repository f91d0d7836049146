package plugin

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// settle commits the writes of a call if its answer is a success.
func settle(ctx context.Context, c catalog.Call, gate *hostfuncs.Gate, answer json.RawMessage) error {
	v := catalog.Verdict{Failed: string(jsonraw.Get(answer, "isError")) == "true"}
	if c.Check != nil {
		var err error
		if v, err = c.Check(answer); err != nil {
			return err
		}
	}
	if gate == nil {
		return nil
	}
	gate.Cleaned(v.Removed, v.Hidden)
	if v.Failed {
		gate.Ended(receipt.Tool)
		return nil
	}
	if err := gate.Land(ctx); err != nil {
		return err
	}
	gate.Ended(receipt.OK)
	return nil
}
