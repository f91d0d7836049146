package protocol

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// metaReceipt is the _meta key of what a call did.
const metaReceipt = "dev.sallyport/receipt"

// outside lists what a failed call did that cannot be taken back, as JSON; nil if nothing is known.
func (r *request) outside() json.RawMessage {
	receipt := r.done()
	if receipt == nil || receipt.Counts {
		return nil
	}
	done := receipt.Done()
	if len(done) == 0 {
		return nil
	}
	list := make([]json.RawMessage, len(done))
	for i, d := range done {
		list[i] = rawjson.AppendString(nil, d)
	}
	return rawjson.Array(list)
}
