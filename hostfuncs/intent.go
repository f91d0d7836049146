package hostfuncs

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"

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

// listener is whoever made the outermost call; nil if nobody wants to know.
func (g *Gate) listener() IntentListener {
	top := g
	for above := top.call.Chain.caller(); above != nil; above = top.call.Chain.caller() {
		top = above
	}
	l, _ := top.call.Client.(IntentListener)
	return l
}

// recant takes an intent back.
func (g *Gate) recant(what string) {
	if l := g.listener(); l != nil && what != "" {
		l.Recants(what)
	}
}

// intend tells of what is about to change.
func (g *Gate) intend(what string) error {
	l := g.listener()
	if l == nil {
		return nil
	}
	if err := l.Intends(what); err != nil {
		return g.unnoted(err)
	}
	return nil
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

// onTheWay watches one request: begin says that it is about to leave, and recant that it failed, which takes the intent
// back if there was never a connection that it could have left by.
func (g *Gate) onTheWay(ctx context.Context, r *web.Request) (watched context.Context, begin func() error, recant func()) {
	what := g.intended(r)
	if what == "" {
		return ctx, func() error { return nil }, func() {}
	}
	var begun, left atomic.Bool
	begin = func() error {
		err := g.intend(what)
		begun.Store(err == nil)
		return err
	}
	recant = func() {
		if begun.Load() && !left.Load() {
			g.recant(what)
		}
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { left.Store(true) }}), begin, recant
}
