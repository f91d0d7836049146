package serving

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

// settle commits the writes of a call if its answer is a success.
func settle(ctx context.Context, c catalogue.Call, gate *hostfuncs.Gate, answer json.RawMessage) error {
	v := catalogue.Verdict{Failed: string(rawjson.Get(answer, "isError")) == "true"}
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
