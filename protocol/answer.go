package protocol

import (
	"encoding/json"
	"log/slog"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// metaReceipt is the _meta key of the receipt of a call.
const metaReceipt = "dev.sallyport/receipt"

// answer builds the response to one request. Results are framed here; failures are in failure.go.
type answer struct {
	call   envelope.Call
	form   *envelope.Form
	legacy *legacySession // its version shapes the result of a legacy request
	log    *slog.Logger   // details hidden from clients
	trace  trace.Context  // the position of the request in a trace, see observe

	id         string // call id, "" before a plugin is called
	subject    string // tool, prompt or URI, "" before a plugin is called
	minted     string // the session, if this request began it
	toolFailed bool   // the tool reported an error
	reports           // of the call
}

// prepared answers with a complete result.
func (a *answer) prepared(result json.RawMessage) []byte {
	return envelope.Prepared(a.call.ID, result)
}

// reply answers with a plugin's result; cached is as in envelope.Form.
func (a *answer) reply(o jsonraw.Object, cached bool) []byte {
	untrusted.StripMeta(&o)
	return a.frame(o, cached)
}

// frame builds a response from a result and adds the host's _meta.
func (a *answer) frame(o jsonraw.Object, cached bool) []byte {
	if receipt := a.done(); receipt != nil {
		untrusted.SetMeta(&o, metaReceipt, receipt.JSON())
	}
	a.nameSession(&o)
	if !a.call.Modern {
		result.Fit(&o, a.legacy.version())
	}
	return a.form.Response(a.call.ID, o, a.call.Modern, cached)
}

// nameSession adds the handle of a session begun by this request.
func (a *answer) nameSession(o *jsonraw.Object) {
	if a.minted != "" {
		untrusted.SetMeta(o, envelope.MetaSession, jsonraw.AppendString(nil, a.minted))
	}
}

// finishTool completes a checked tool result. It adds structured content as text for clients that may not support it,
// and the denied effects of a failed call.
func (a *answer) finishTool(o *jsonraw.Object) {
	result.Readable(o, !a.call.Modern)
	if !result.Failed(*o) {
		return
	}
	a.toolFailed = true
	hints, said := a.hinted(), result.Said(*o)
	if refused := hints.Block(said); refused != nil {
		result.Add(o, refused)
	}
	if f := hints.Own(said); f != nil {
		untrusted.SetMeta(o, result.ErrorMeta, f.Data(a.id))
	}
}

// bound shortens an answer over the limit. Text is cut and marked. Answers with structured content or data are
// replaced, as a part of them would be meaningless. keep stores the full answer for the caller and returns its URI, or
// "" if it cannot be stored.
func (a *answer) bound(o *jsonraw.Object, b result.Bound, keep func(jsonraw.Object) string) {
	size := result.Size(*o)
	if b.Bytes <= 0 || size <= b.Bytes {
		return
	}
	uri := keep(*o)
	if result.Divisible(*o) {
		result.Cut(o, b, uri)
		return
	}
	f := &result.Failure{Kind: runtime.KindLimit, Text: result.TooLarge(size, b)}
	result.Replace(o, a.subject+": "+f.Text, uri)
	untrusted.SetMeta(o, result.ErrorMeta, f.Data(a.id))
}
