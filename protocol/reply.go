package protocol

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/result"
)

// metaReceipt is the _meta key of the receipt of a call.
const metaReceipt = "dev.sallyport/receipt"

// prepared answers with a complete result.
func (r *request) prepared(result json.RawMessage) []byte {
	return envelope.Prepared(r.call.ID, result)
}

// reply answers with a plugin's result; cached is as in era.Form.
func (r *request) reply(o jsonraw.Object, cached bool) []byte {
	untrusted.StripMeta(&o)
	return r.frame(o, cached)
}

// frame builds a response from a result and adds the host's _meta.
func (r *request) frame(o jsonraw.Object, cached bool) []byte {
	if receipt := r.done(); receipt != nil {
		untrusted.SetMeta(&o, metaReceipt, receipt.JSON())
	}
	r.tellSession(&o)
	if !r.call.Modern {
		result.Fit(&o, r.conn.session())
	}
	return r.server.form.Response(r.call.ID, o, r.call.Modern, cached)
}
