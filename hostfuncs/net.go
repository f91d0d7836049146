package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// fetchTime limits a fetch with its body, in addition to the deadline of the call.
const fetchTime = 10 * time.Minute

// fetch serves http/fetch:
//
//	{method?, url, headers?: {name: text|[text]}, body?: text|{"dev.sallyport/stream": n}}
//	→ {status, url, headers: {name: text|[text]}, body: {"dev.sallyport/stream": n}}
//
// The method defaults to GET. Field names in the answer are in lower case, and a repeated field is a list. Redirects
// are followed, each as a separate effect; url is the last target. The answer's body is a stream that is valid during
// the call.
func (g *Gate) fetch(ctx context.Context, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	res, err := g.perform(ctx, params, s, "")
	if err != nil {
		return nil, err
	}
	return deliver(res.AppendHead(nil), res.Body, s)
}

// idempotencyKey is the field by which a server recognizes a repeated request.
const idempotencyKey = "Idempotency-Key"

// perform performs a fetch. A non-empty key is its idempotency key, unless the guest has set one.
func (g *Gate) perform(ctx context.Context, params json.RawMessage, s runtime.Streams, key string) (*egress.Response, error) {
	if s == nil {
		return nil, askErrorf(runtime.KindUnsupported, "http/fetch needs streams, and there are none here")
	}
	r, err := egress.Parse(params, s)
	if err != nil {
		return nil, err
	}
	if r.Header.Get(idempotencyKey) == "" {
		r.Key = key
	}
	if g.call.ReadOnly && !egress.Safe(r.Method) {
		return nil, g.deny(effect{family: "net", act: r.Method + " " + r.URL.String()}, &refusal{reason: saysReadOnly})
	}
	if g.call.DryRun && !egress.Safe(r.Method) {
		g.learn(g.request(r), true)
		g.hold(r.Method, r.Method+" "+r.URL.Redacted())
		return nil, askErrorf(runtime.KindUnavailable, "dry run: %s not sent", r.Method)
	}
	return g.follow(ctx, r)
}

// deliver opens the answer's body as a stream for the guest.
func deliver(head json.RawMessage, body io.ReadCloser, s runtime.Streams) (json.RawMessage, error) {
	id, err := s.Open(body)
	if err != nil {
		return nil, err // Open closed the body
	}
	return fmt.Appendf(head, `,"body":{%q:%d}}`, egress.StreamMember, id), nil
}

// follow performs a request and its redirects. Each hop is checked separately.
func (g *Gate) follow(ctx context.Context, r *egress.Request) (*egress.Response, error) {
	for range egress.MaxRedirects + 1 {
		res, err := g.hop(ctx, r)
		if err != nil {
			return nil, err
		}
		next, err := r.Redirect(res)
		if err != nil || next == nil {
			if err != nil {
				res.Body.Close()
			}
			return res, err
		}
		res.Body.Close()
		r = next
	}
	return nil, askErrorf(runtime.KindLimit, "more than %d redirects, the last to %s", egress.MaxRedirects, cut(r.URL.String(), maxAct))
}

// hop performs one request.
func (g *Gate) hop(ctx context.Context, r *egress.Request) (res *egress.Response, err error) {
	proxy, err := g.policy.net.Proxy(r.URL)
	if err != nil {
		return nil, askErrorf(runtime.KindUnavailable, "the proxy settings of the host cannot be read")
	}
	if proxy != nil {
		r.Via = " via proxy"
	}
	var found netip.Addr // the host's resolved address, once known
	e := g.request(r)
	e.reach = func(d grant.Decision) *refusal { return g.unreached(r, d, found) }
	e.leaves = true
	e.do = func(ctx context.Context, d grant.Decision) error {
		res, err = g.send(ctx, r, proxy, d)
		var address *egress.AddressError
		if errors.As(err, &address) {
			found = address.Addr
			return g.outOfReach(r, address, d)
		}
		return err
	}
	err = g.pass(ctx, e)
	return res, err
}

// request returns the effect of a request, without its execution.
func (g *Gate) request(r *egress.Request) effect {
	act := r.Method + " " + r.URL.String()
	if r.From != "" {
		act += " (where " + cut(r.From, maxAct) + " redirects)"
	}
	return effect{
		family: "net", act: act, target: r.Target(),
		decide: func(s *grant.Set) grant.Decision { return decideNet(s, r) },
		near:   func(d grant.Decision) string { return g.nearNet(r.URL.Hostname(), d) },
		reach:  func(d grant.Decision) *refusal { return g.unreached(r, d, netip.Addr{}) },
		header: r.Header,
		body:   func() ([]byte, error) { return r.Body.Bytes(egress.MaxBody) },
		inside: func() bool { return g.policy.net.ClassOf(r.URL.Hostname()) != egress.Public },
	}
}

func decideNet(s *grant.Set, r *egress.Request) grant.Decision {
	if r.Origin != nil {
		return s.Redirect(r.Method, r.Origin, r.URL)
	}
	return s.Net(r.Method, r.URL)
}

// nearNet explains why a line with stars in its host does not cover this machine or its network, and why a line for
// any query does not cover this query.
func (g *Gate) nearNet(host string, d grant.Decision) string {
	if d.Turned {
		return ": its query has servers take another method, which a line has to name"
	}
	c := g.policy.net.ClassOf(host)
	if !d.Wild || c == egress.Public {
		return ""
	}
	return ": " + host + " is a " + string(c) + " address, which a line has to name, with its port"
}

// send performs one allowed request.
func (g *Gate) send(ctx context.Context, r *egress.Request, proxy *url.URL, d grant.Decision) (*egress.Response, error) {
	limit := int64(egress.MaxBody)
	if d.Body > 0 {
		limit = min(limit, d.Body)
	}
	data, err := r.Body.Bytes(limit)
	if err == nil {
		err = g.overSent(int64(len(data)))
	}
	if err != nil {
		g.giveBack(ctx, g.consents.taken)
		return nil, err
	}
	ctx, cancel := g.fetchContext(ctx)
	var put []string // the secrets in it
	ctx, begin, recant := g.onTheWay(ctx, r)
	res, err := g.policy.net.Do(ctx, r, data, egress.Exchange{
		Reach: reachOf(d), Proxy: proxy, Searched: g.holdsSecrets(),
		Prepare: func(out *http.Request) (secret bool, err error) {
			if r.Key != "" {
				out.Header.Set(idempotencyKey, r.Key)
			}
			g.trace().own.Header(out.Header, g.policy.host.upstream)
			if put, err = g.inject(out, r, data); err == nil {
				err = begin()
			}
			if err == nil {
				g.sends(r, put)
			}
			return put != nil, err
		},
		Answered: func(status int, h http.Header) *secret.Redactor {
			g.count("net", r.Target(), 0, int64(len(data)), 0)
			g.noteRetry(status, h)
			g.redactHeader(h)
			return g.policy.vault.Redactor()
		},
		Read: func(n int) error {
			g.count("net", r.Target(), 0, 0, int64(n))
			return g.overReceived(int64(n))
		},
		Done: cancel,
	})
	if err != nil {
		defer cancel()
		recant()
		return nil, g.unsent(ctx, r, put, err)
	}
	return res, nil
}

// holdsSecrets reports whether a server could echo a value that the plugin must not see.
func (g *Gate) holdsSecrets() bool {
	return len(g.grants.Secrets()) > 0 || g.policy.vault.Redactor() != nil
}

// sends counts a request before it is sent, and the secrets in it.
func (g *Gate) sends(r *egress.Request, secrets []string) {
	g.count("net", r.Target(), 1, 0, 0)
	for _, name := range secrets {
		g.count("secret", name, 1, 0, 0)
	}
}

// fetchContext returns a context that ends with the call, with the gate, and after fetchTime.
func (g *Gate) fetchContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	stop := context.AfterFunc(g.until(), cancel)
	return ctx, func() { stop(); cancel() }
}

// unreached returns the dialer's denial of an allowed request as far as it is known in advance: for an address as
// host, or a name with its resolved address in found.
func (g *Gate) unreached(r *egress.Request, d grant.Decision, found netip.Addr) *refusal {
	var address *egress.AddressError
	if !errors.As(g.policy.net.Foresee(r.URL.Hostname(), reachOf(d), found), &address) {
		return nil
	}
	return g.outOfReach(r, address, d)
}

// reachOf returns the address classes that a decision allows.
func reachOf(d grant.Decision) egress.Reach {
	return egress.Reach{Named: d.Named, Private: d.Named && d.Private}
}

// outOfReach denies an address, with the line that would allow it where an operator may want to: the host with
// private: true for a private network, or the address for this machine.
func (g *Gate) outOfReach(r *egress.Request, address *egress.AddressError, d grant.Decision) *refusal {
	no := &refusal{reason: g.notReached(address, d)}
	at := r.URL
	switch own := g.policy.net.ClassOf(at.Hostname()); {
	case address.Class == egress.Private && own != egress.Private:
		no.line = g.grants.Limits().SuggestPrivate(r.Method, at)
		return no
	case address.Class == egress.Loopback && own != egress.Loopback:
		at = address.At(at)
	case address.Class != egress.Loopback && address.Class != egress.Private:
		return no
	}
	no.line = g.grants.Limits().Net(r.Method, at).Suggest
	return no
}

// notReached returns the reason why a decision does not cover an address.
func (g *Gate) notReached(address *egress.AddressError, d grant.Decision) string {
	if d.Named && (address.Class == egress.Private || g.policy.net.ClassOf(address.Host) == address.Class && address.Class != egress.Loopback) {
		return address.Error() + ", which takes private: true in its line"
	}
	return address.Error() + ", which no grant names"
}

// unsent returns the error for a missing answer. A request that was never sent is removed from the receipt.
func (g *Gate) unsent(ctx context.Context, r *egress.Request, secrets []string, err error) error {
	var address *egress.AddressError
	var ask *runtime.AskError
	switch {
	case errors.As(err, &address):
		g.uncount("net", r.Target())
		for _, name := range secrets {
			g.uncount("secret", name)
		}
		return address
	case over(ctx) != nil:
		return over(ctx)
	case errors.As(err, &ask):
		redacted := *ask
		redacted.Message = g.redact(ask.Message)
		return &redacted
	}
	return err
}
