package protocol

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// envelopeSize is room for what stands around an id and a result in a response.
const envelopeSize = 48

// metaReceipt is the _meta key of what a call did.
const metaReceipt = "dev.sallyport/receipt"

// prepared answers with a result that is ready: one allocation.
func (r *request) prepared(result json.RawMessage) []byte {
	return jsonrpc.AppendResult(make([]byte, 0, len(r.id)+len(result)+envelopeSize), r.id, result)
}

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
	return r.server.form.Response(r.id, o, r.modern, cached)
}
