package hostfuncs

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/web"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// IntentListener is met by a Client that wants to know what a call, or one that it makes, is about to change: each
// request that changes something, and the saving of files and keys.
type IntentListener interface {
	// Intends hears of a change before it happens. After an error it does not.
	Intends(what string) error
	// Recants hears that a change came to nothing, of which Intends has heard.
	Recants(what string)
}

// saving is the intent of a call whose files and keys are about to last.
const saving = "the saving of what the call wrote"

// top is the gate of the outermost call.
func (g *Gate) top() *Gate {
	top := g
	for above := top.call.Chain.caller(); above != nil; above = top.call.Chain.caller() {
		top = above
	}
	return top
}

// intend tells whoever made the outermost call what is about to change.
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

// recant takes the last intent back.
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

// unnoted refuses a change that cannot be noted.
func (g *Gate) unnoted(err error) error {
	g.policy.host.logger.Error("what a call is about to do cannot be noted", "plugin", g.policy.plugin.Name, "call", g.call.ID, "error", err)
	return askErrorf(runtime.KindUnavailable, "the host cannot note what is about to change, so nothing does")
}

// intended is what a request is about to change, as a person is told; empty if that is nothing.
func (g *Gate) intended(r *web.Request) string {
	if web.Safe(r.Method) {
		return ""
	}
	at := *r.URL
	at.RawQuery = ""
	return g.redact(cut(r.Method, maxMethod) + " " + cut(at.Redacted(), maxAct))
}

// giveBack keeps an answer for once that a request has taken which never left; nil is none.
func (g *Gate) giveBack(ctx context.Context, taken *store.Grant) {
	if taken != nil {
		g.policy.host.operator.Give(context.WithoutCancel(ctx), *taken)
	}
}

// onTheWay watches one request: begin says that it is about to leave, and recant that it failed, which takes the intent
// back, and gives an answer for once back, if there was never a connection that it could have left by.
func (g *Gate) onTheWay(ctx context.Context, r *web.Request) (watched context.Context, begin func() error, recant func()) {
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
