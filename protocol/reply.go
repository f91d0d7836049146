package protocol

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/answer"
	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// metaReceipt is the _meta key of what a call did.
const metaReceipt = "dev.sallyport/receipt"

// prepared answers with a result that is ready.
func (r *request) prepared(result json.RawMessage) []byte { return era.Prepared(r.id, result) }

// reply answers with a plugin's result; cached is as in era.Form.
func (r *request) reply(o rawjson.Object, cached bool) []byte {
	meta.Strip(&o)
	return r.frame(o, cached)
}

// frame makes a response of a result, with what the host says of the call.
func (r *request) frame(o rawjson.Object, cached bool) []byte {
	if receipt := r.done(); receipt != nil {
		meta.Set(&o, metaReceipt, receipt.JSON())
	}
	r.tellSession(&o)
	if !r.modern {
		answer.Fit(&o, r.conn.session())
	}
	return r.server.form.Response(r.id, o, r.modern, cached)
}
