package hostfuncs

import (
	"slices"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// recorder collects the receipt of a call. It is safe for concurrent use.
type recorder struct {
	begun time.Time

	mu      sync.Mutex
	effects receipt.Record
	nested  []receipt.Receipt // of nested calls
	usage   runtime.Usage
	held    receipt.Would // requests held back in a dry run
	outcome string
	landed  int // number of files and folders that the commit changed
	removed int // characters removed from the output
	hidden  int // such characters left in the data
}

// count adds effects on a target: their number, and the bytes that the guest sent and received.
func (r *recorder) count(family, target string, times int, sent, received int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.effects.Count(family, target, times, sent, received)
}

// uncount removes an effect that did not happen.
func (r *recorder) uncount(family, target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.effects.Uncount(family, target)
}

// deny adds a denial, and reports whether it is new.
func (r *recorder) deny(d receipt.Denial) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.effects.Deny(d)
}

// learn counts a line that the call needed.
func (r *recorder) learn(line string, n receipt.Need) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.effects.Learn(line, n)
}

// hold adds an effect outside this machine that a dry run held back.
func (r *recorder) hold(method, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held.Add(method, 1, text)
}

// nest keeps the receipt of a nested call.
func (r *recorder) nest(inner receipt.Receipt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.nested) < maxNested {
		r.nested = append(r.nested, inner)
	}
}

// commit sets the number of files and folders that the commit changed.
func (r *recorder) commit(landed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.landed = landed
}

// denials returns the denials so far, in order, without duplicates.
func (r *recorder) denials() []receipt.Denial {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.effects.Denials()
}

// receipt returns the record so far. pending are the uncommitted writes of a dry run.
func (r *recorder) receipt(call string, p *Plugin, pending receipt.Would) receipt.Receipt {
	r.mu.Lock()
	defer r.mu.Unlock()
	pending.Join(r.held)
	return receipt.Receipt{
		Call: call, Plugin: p.Name, Digest: p.Digest, Updates: p.Updates, Calls: slices.Clone(r.nested),
		Effects: r.effects.Effects(), Denials: r.effects.Denials(),
		Fuel: r.usage.Fuel, Memory: r.usage.Memory,
		Learnt: r.effects.Learnt(), Outcome: r.outcome, Landed: r.landed, Removed: r.removed, Hidden: r.hidden,
		Would: pending.List, WouldCounts: pending.Counts,
	}
}

// Denials returns the denials so far, in order, without duplicates.
func (g *Gate) Denials() []receipt.Denial { return g.record.denials() }

// Receipt returns the effects of the call so far.
func (g *Gate) Receipt() receipt.Receipt {
	var pending receipt.Would
	if g.call.DryRun {
		pending = g.writes.would(g.policy.host)
	}
	return g.record.receipt(g.call.ID, &g.policy.plugin, pending)
}

// Ended sets the outcome of the call for its receipt: receipt.OK, receipt.Tool or a kind. Only the first call counts.
func (g *Gate) Ended(outcome string) {
	g.record.mu.Lock()
	defer g.record.mu.Unlock()
	if g.record.outcome == "" {
		g.record.outcome = outcome
	}
}

// Cleaned counts invisible and control characters: removed from plugin output, and hidden in data, which is left
// unchanged.
func (g *Gate) Cleaned(removed, hidden int) {
	g.record.mu.Lock()
	defer g.record.mu.Unlock()
	g.record.removed += removed
	g.record.hidden += hidden
}

// Used records the resource usage of the call.
func (g *Gate) Used(u runtime.Usage) {
	g.record.mu.Lock()
	defer g.record.mu.Unlock()
	g.record.usage = u
}

// ReceiptListener is implemented by a Client that takes the receipt after the call.
type ReceiptListener interface {
	Receipt(receipt.Receipt)
}

// finish writes the call to the audit log and gives the caller its receipt.
func finish(g *Gate) {
	if g.call.Settle != nil {
		g.call.Settle(amountOf(g.Receipt()))
	}
	h := g.policy.host
	chain := g.call.Chain
	if h.options.Audit == nil && chain != nil && chain.receipt != nil {
		chain.receipt(g.Receipt())
	}
	if h.options.Audit == nil || g.call.Method == "plugin/describe" {
		return
	}
	r := g.Receipt()
	if g.policy.plugin.warming && len(r.Effects)+len(r.Denials) == 0 {
		return // it touched nothing, as nearly each
	}
	r.Millis = float64(time.Since(g.record.begun).Microseconds()) / 1000
	by := receipt.Caller{Principal: g.call.Principal, Method: g.call.Method, Tool: g.call.Tool, Trace: g.call.Trace, Span: g.session.trace()}
	mark, err := h.options.Audit.Append(r.Line(by))
	if h.options.Ended != nil {
		h.options.Ended(r, by)
	}
	if err != nil {
		h.options.Logger.Error("the audit log cannot be written", "call", g.call.ID, "error", err, g.call.Trace.Attr())
	} else {
		r.Audit = mark.String()
	}
	if chain != nil && chain.receipt != nil {
		chain.receipt(r)
		return
	}
	if l, ok := g.call.Client.(ReceiptListener); ok {
		r.Counts = !h.options.FullReceipts && !g.session.local()
		l.Receipt(r)
	}
}
