package hostfuncs

import (
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
)

// Ended sets the outcome of the call for its receipt: receipt.OK, receipt.Tool or a kind. Only the first call counts.
func (g *Gate) Ended(outcome string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.outcome == "" {
		g.outcome = outcome
	}
}

// Cleaned counts invisible and control characters: removed from plugin output, and hidden in data, which is left
// unchanged.
func (g *Gate) Cleaned(removed, hidden int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removed += removed
	g.hidden += hidden
}

// ReceiptListener is implemented by a Client that takes the receipt after the call.
type ReceiptListener interface {
	Receipt(receipt.Receipt)
}

// finish writes the call to the audit log and gives the caller its receipt.
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
