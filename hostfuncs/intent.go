package hostfuncs

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// IntentListener is implemented by a Client that is told of upcoming changes of a call and its nested calls: requests
// that change something, and the commit of files and keys.
type IntentListener interface {
	// Intends is called before a change. An error prevents it.
	Intends(what string) error
	// Recants is called if a change passed to Intends did not happen.
	Recants(what string)
}

// saving is the intent to commit files and keys.
const saving = "the commit of the call's writes"

// top returns the gate of the outermost call.
func (g *Gate) top() *Gate {
	top := g
	for above := top.call.Chain.caller(); above != nil; above = top.call.Chain.caller() {
		top = above
	}
	return top
}

// intend reports an upcoming change to the caller of the outermost call.
func (g *Gate) intend(what string) error {
	top := g.top()
	if l, ok := top.call.Client.(IntentListener); ok {
		if err := l.Intends(what); err != nil {
			return g.unnoted(err)
		}
	}
	if top.journal != nil {
		if err := top.journal.Does(what); err != nil {
			return g.unnoted(err)
		}
	}
	for x := g; x != nil; x = x.call.Chain.caller() {
		x.changes = append(x.changes, what)
	}
	return nil
}

// recant withdraws the last intent.
func (g *Gate) recant(what string) {
	top := g.top()
	if l, ok := top.call.Client.(IntentListener); ok {
		l.Recants(what)
	}
	if top.journal != nil {
		top.journal.Undoes()
	}
	for x := g; x != nil; x = x.call.Chain.caller() {
		x.changes = x.changes[:len(x.changes)-1]
	}
}

// unnoted returns the error for a change that could not be recorded.
func (g *Gate) unnoted(err error) error {
	g.policy.host.logger.Error("the journal of a call cannot be written", "plugin", g.policy.plugin.Name, "call", g.call.ID, "error", err)
	return askErrorf(runtime.KindUnavailable, "the host cannot write its journal, so nothing was changed")
}

// intended describes the change that a request makes; empty for a safe method.
func (g *Gate) intended(r *egress.Request) string {
	if egress.Safe(r.Method) {
		return ""
	}
	at := *r.URL
	at.RawQuery = ""
	return g.redact(cut(r.Method, maxMethod) + " " + cut(at.Redacted(), maxAct))
}

// giveBack returns a taken one-time answer if its request was never sent; nil is ignored.
func (g *Gate) giveBack(ctx context.Context, taken *store.Grant) {
	if taken != nil {
		g.policy.host.operator.Give(context.WithoutCancel(ctx), *taken)
	}
}

// onTheWay watches one request. begin records its intent before it is sent. recant is for its failure: if no
// connection was ever available, it withdraws the intent and returns a one-time answer.
func (g *Gate) onTheWay(ctx context.Context, r *egress.Request) (watched context.Context, begin func() error, recant func()) {
	what, taken := g.intended(r), g.consents.taken
	if what == "" && taken == nil {
		return ctx, func() error { return nil }, func() {}
	}
	var begun, left atomic.Bool
	begin = func() error {
		if what == "" {
			return nil
		}
		err := g.intend(what)
		begun.Store(err == nil)
		return err
	}
	recant = func() {
		if left.Load() {
			return
		}
		if begun.Load() {
			g.recant(what)
		}
		g.giveBack(ctx, taken)
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { left.Store(true) }}), begin, recant
}
