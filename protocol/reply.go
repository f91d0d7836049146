package protocol

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/meta"
	"github.com/sallyport-mcp/sallyport/protocol/answer"
	"github.com/sallyport-mcp/sallyport/protocol/era"
)

// metaReceipt is the _meta key of the receipt of a call.
const metaReceipt = "dev.sallyport/receipt"

// prepared answers with a complete result.
func (r *request) prepared(result json.RawMessage) []byte { return era.Prepared(r.id, result) }

// reply answers with a plugin's result; cached is as in era.Form.
func (r *request) reply(o jsonraw.Object, cached bool) []byte {
	meta.Strip(&o)
	return r.frame(o, cached)
}

// frame builds a response from a result and adds the host's _meta.
func (r *request) frame(o jsonraw.Object, cached bool) []byte {
	if receipt := r.done(); receipt != nil {
		meta.Set(&o, metaReceipt, receipt.JSON())
	}
	r.tellSession(&o)
	if !r.modern {
		answer.Fit(&o, r.conn.session())
	}
	return r.server.form.Response(r.id, o, r.modern, cached)
}
