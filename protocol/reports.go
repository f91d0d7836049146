package protocol

import (
	"slices"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/protocol/idempotency"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// reports collects what the host reports about a call while it runs: its intended and denied effects, hints for a
// failure text, and its receipt. It is safe for concurrent use.
type reports struct {
	mu      sync.Mutex
	claim   *idempotency.Claim // claim on its idempotency key, while it runs
	touched []string           // intended effects of this run
	hints   result.Hints       // for a failure text
	receipt *receipt.Receipt   // of the call, after its end
}

// Denied records an effect denied by policy, for the text of a failed call.
func (p *reports) Denied(e *runtime.AskError) { p.hint(func(h *result.Hints) { h.Denied(e) }) }

// RetryAfter records the delay in ms before a failed operation may be retried, for a failed call.
func (p *reports) RetryAfter(ms int64) { p.hint(func(h *result.Hints) { h.RetryAfter(ms) }) }

// hint updates the hints collected during the call.
func (p *reports) hint(f func(*result.Hints)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.hints)
}

// hinted returns the hints collected during the call.
func (p *reports) hinted() result.Hints {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hints
}

// Receipt records the effects of the call. It is called after the call, before its answer is sent.
func (p *reports) Receipt(receipt receipt.Receipt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receipt = &receipt
}

// done returns the receipt of the call, or nil if there is none.
func (p *reports) done() *receipt.Receipt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.receipt
}

// claimed records the request's claim on its idempotency key, or clears it if c is nil.
func (p *reports) claimed(c *idempotency.Claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claim = c
}

// Intends records an intended effect before it is executed.
func (p *reports) Intends(what string) error {
	p.mu.Lock()
	claim := p.claim
	p.touched = append(p.touched, what)
	p.mu.Unlock()
	if claim == nil {
		return nil
	}
	return claim.Intends(what)
}

// Recants removes an intent that had no effect.
func (p *reports) Recants(what string) {
	p.mu.Lock()
	claim := p.claim
	if i := slices.Index(p.touched, what); i >= 0 {
		p.touched = slices.Delete(p.touched, i, i+1)
	}
	p.mu.Unlock()
	if claim != nil {
		claim.Recants(what)
	}
}

// changed returns the intended effects of this run.
func (p *reports) changed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.touched)
}
