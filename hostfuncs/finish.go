package hostfuncs

import (
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
)

// Ended says how the call ended, for its receipt: receipt.OK, receipt.Tool or a kind. The first word holds.
func (g *Gate) Ended(outcome string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.outcome == "" {
		g.outcome = outcome
	}
}

// Cleaned counts characters that were taken out of what the plugin says, and those of their kind that are in
// data, which stays as it is.
func (g *Gate) Cleaned(removed, hidden int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removed += removed
	g.hidden += hidden
}

// ReceiptListener is met by a Client that wants the receipt when the call is over.
type ReceiptListener interface {
	Receipt(receipt.Receipt)
}

// finish writes the call into the audit log and gives the caller its receipt.
func (g *Gate) finish() {
	h := g.policy.host
	chain := g.call.Chain
	if h.audit == nil && chain != nil && chain.receipt != nil {
		chain.receipt(g.Receipt())
	}
	if h.audit == nil || g.call.Method == "plugin/describe" {
		return
	}
	r := g.Receipt()
	r.Millis = float64(time.Since(g.begun).Microseconds()) / 1000
	mark, err := h.audit.Append(r.Line(receipt.Caller{
		Principal: g.call.Principal, Method: g.call.Method, Tool: g.call.Tool, Trace: g.trace().line,
	}))
	if err != nil {
		h.logger.Error("the audit log cannot be written", "call", g.call.ID, "error", err)
	} else {
		r.Audit = mark.String()
	}
	if chain != nil && chain.receipt != nil {
		chain.receipt(r)
		return
	}
	if l, ok := g.call.Client.(ReceiptListener); ok {
		r.Counts = !h.fullReceipts && !isLocal(g.call.Principal)
		l.Receipt(r)
	}
}
