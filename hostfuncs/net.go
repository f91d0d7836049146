package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync/atomic"
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
//	{method?, url, headers?: {name: text|[text]}, body?: text|{"dev.sallyport/stream": n}, redirect?, timeoutMs?}
//	→ {status, url, headers: {name: text|[text]}, body: {"dev.sallyport/stream": n}}
//
// The method defaults to GET. Field names in the answer are in lower case, and a repeated field is a list. Redirects
// are followed, each as a separate effect; url is the last target. With redirect "manual" the guest gets them as
// answers instead, as in the Fetch API. timeoutMs limits each hop with its body. The answer's body is a stream that is
// valid during the call.
func fetch(ctx context.Context, g *Gate, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	if s == nil {
		return nil, askErrorf(runtime.KindUnsupported, "http/fetch needs streams, and there are none here")
	}
	r, err := egress.Parse(params, s)
	if err != nil {
		return nil, err
	}
	f := &fetching{gate: g, request: r}
	e := f.hop()
	if e.entry, err = f.entry(params); err != nil {
		return nil, err
	}
	if !r.Manual {
		e.then = f.follow
	}
	if err := g.pass(ctx, e); err != nil {
		f.close()
		return nil, err
	}
	return f.deliver(s)
}

// fetching is one fetch: its request and redirects, and the answer to the guest.
type fetching struct {
	gate     *Gate
	request  *egress.Request // the last one
	response *egress.Response
	recorded *entry // in the journal; nil without a journal
	head     json.RawMessage
	body     io.ReadCloser // nil before the answer
}

// deliver opens the answer's body as a stream for the guest.
func (f *fetching) deliver(s runtime.Streams) (json.RawMessage, error) {
	if f.body == nil {
		f.head, f.body = f.response.AppendHead(nil), f.response.Body
	}
	id, err := s.Open(f.body)
	if err != nil {
		return nil, err // Open closed the body
	}
	return fmt.Appendf(f.head, `,"body":{%q:%d}}`, egress.StreamMember, id), nil
}

// close closes the body of an answer that is not delivered.
func (f *fetching) close() {
	if f.body != nil {
		_ = f.body.Close()
	}
}

// follow performs the redirects of the request. Each hop is a separate effect.
func (f *fetching) follow(ctx context.Context) error {
	return egress.Follow(f.request, f.response, func(hop *egress.Request) (*egress.Response, error) {
		f.request = hop
		err := f.gate.pass(ctx, f.hop())
		return f.response, err
	})
}

// hop returns the effect of the last request.
func (f *fetching) hop() effect {
	g, r := f.gate, f.request
	var found netip.Addr // the host's resolved address, once known
	e := requestEffect(&g.rules, r)
	e.web.reach = func(d grant.Decision) *refusal { return unreached(&g.rules, r, d, found) }
	e.leaves = true
	e.sends = func(d grant.Decision) (int64, error) {
		limit := int64(egress.MaxBody)
		if d.Body > 0 {
			limit = min(limit, d.Body)
		}
		data, err := r.Body.Bytes(limit)
		return int64(len(data)), err
	}
	e.do = func(ctx context.Context, d grant.Decision) error {
		err := f.send(ctx, d, e.intent)
		var address *egress.AddressError
		if errors.As(err, &address) {
			found = address.Addr
			return outOfReach(&g.rules, r, address, d)
		}
		return err
	}
	return e
}

// requestEffect returns the effect of a request, without its execution.
func requestEffect(rules *rules, r *egress.Request) effect {
	act := r.Method + " " + r.URL.String()
	if r.From != "" {
		act += " (where " + cut(r.From, maxAct) + " redirects)"
	}
	return effect{
		family: "net", act: act, target: r.Target(), changes: !grant.IsSafe(r.Method), intent: intended(rules, r),
		decide: func(s *grant.Set) grant.Decision { return decideNet(s, r) },
		near:   func(d grant.Decision) string { return nearNet(rules.policy.net, r.URL.Hostname(), d) },
		web: web{
			header: r.Header,
			body:   func() ([]byte, error) { return r.Body.Bytes(egress.MaxBody) },
			inside: func() bool { return rules.policy.net.ClassOf(r.URL.Hostname()) != egress.Public },
			reach:  func(d grant.Decision) *refusal { return unreached(rules, r, d, netip.Addr{}) },
		},
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
func nearNet(net *egress.Client, host string, d grant.Decision) string {
	if d.Turned {
		return ": its query has servers take another method, which a line has to name"
	}
	c := net.ClassOf(host)
	if !d.Wild || c == egress.Public {
		return ""
	}
	return ": " + host + " is a " + string(c) + " address, which a line has to name, with its port"
}

// send performs the last request, which is allowed.
func (f *fetching) send(ctx context.Context, d grant.Decision, intent string) error {
	g, r := f.gate, f.request
	data, err := r.Body.Bytes(egress.MaxBody)
	if err != nil {
		return err
	}
	proxy, err := g.policy.net.Proxy(r.URL)
	if err != nil {
		return askErrorf(runtime.KindUnavailable, "the proxy settings of the host cannot be read")
	}
	if proxy != nil {
		r.Via = " via proxy"
	}
	key := f.key()
	call := ctx
	ctx, cancel := fetchContext(ctx, &g.life, r.Timeout)
	var put []string // the secrets in it
	ctx, begin, recant := watchIntent(ctx, g, intent)
	f.response, err = g.policy.net.Do(ctx, r, data, egress.Exchange{
		Reach: reachOf(d), Proxy: proxy, Searched: holdsSecrets(&g.rules),
		Prepare: func(out *http.Request) (secret bool, err error) {
			if key != "" {
				out.Header.Set(idempotencyKey, key)
			}
			g.session.trace().Header(out.Header, g.policy.host.options.Trace)
			if put, err = inject(g, out, r, data); err == nil {
				err = begin()
			}
			if err == nil {
				countSent(&g.record, r, put)
			}
			return put != nil, err
		},
		Answered: func(status int, h http.Header) *secret.Redactor {
			g.record.count("net", r.Target(), 0, int64(len(data)), 0)
			g.session.noteRetry(status, h)
			redactHeader(g, h)
			return g.rules.vault.Redactor()
		},
		Read: func(n int) error {
			g.record.count("net", r.Target(), 0, 0, int64(n))
			return g.traffic.receive(int64(n))
		},
		Done: cancel,
	})
	if err != nil {
		defer cancel()
		recant()
		if r.Timeout > 0 && ctx.Err() == context.DeadlineExceeded && call.Err() == nil {
			return askErrorf(runtime.KindTimeout, "%s does not answer within the %v of the request", r.URL.Host, r.Timeout)
		}
		return unsent(ctx, g, r, put, err)
	}
	return nil
}

// holdsSecrets reports whether a server could echo a value that the plugin must not see.
func holdsSecrets(r *rules) bool {
	return len(r.grants.Secrets()) > 0 || r.vault.Redactor() != nil
}

// countSent counts a request before it is sent, and the secrets in it.
func countSent(record *recorder, r *egress.Request, secrets []string) {
	record.count("net", r.Target(), 1, 0, 0)
	for _, name := range secrets {
		record.count("secret", name, 1, 0, 0)
	}
}

// fetchContext returns a context that ends with the call, with the gate, after fetchTime, and after the guest's limit
// if that is not zero.
func fetchContext(ctx context.Context, l *lifetime, limit time.Duration) (context.Context, func()) {
	if limit == 0 {
		limit = fetchTime
	}
	ctx, cancel := context.WithTimeout(ctx, min(limit, fetchTime))
	stop := context.AfterFunc(l.until(), cancel)
	return ctx, func() { stop(); cancel() }
}

// unreached returns the dialer's denial of an allowed request as far as it is known in advance: for an address as
// host, or a name with its resolved address in found.
func unreached(rules *rules, r *egress.Request, d grant.Decision, found netip.Addr) *refusal {
	var address *egress.AddressError
	if !errors.As(rules.policy.net.Foresee(r.URL.Hostname(), reachOf(d), found), &address) {
		return nil
	}
	return outOfReach(rules, r, address, d)
}

// reachOf returns the address classes that a decision allows.
func reachOf(d grant.Decision) egress.Reach {
	return egress.Reach{Named: d.Named, Private: d.Named && d.Private}
}

// outOfReach denies an address, with the line that would allow it where an operator may want to: the host with
// private: true for a private network, or the address for this machine.
func outOfReach(rules *rules, r *egress.Request, address *egress.AddressError, d grant.Decision) *refusal {
	no := &refusal{reason: notReached(rules.policy.net, address, d)}
	at := r.URL
	switch own := rules.policy.net.ClassOf(at.Hostname()); {
	case address.Elsewhere():
		return no
	case address.Class == egress.Private && own != egress.Private:
		no.line = rules.grants.Limits().SuggestPrivate(r.Method, at)
		return no
	case address.Class == egress.Loopback && own != egress.Loopback:
		at = address.At(at)
	case address.Class != egress.Loopback && address.Class != egress.Private:
		return no
	}
	no.line = rules.grants.Limits().Net(r.Method, at).Suggest
	return no
}

// notReached returns the reason why a decision does not cover an address.
func notReached(net *egress.Client, address *egress.AddressError, d grant.Decision) string {
	if address.Elsewhere() {
		return address.Error()
	}
	if d.Named && (address.Class == egress.Private || net.ClassOf(address.Host) == address.Class && address.Class != egress.Loopback) {
		return address.Error() + ", which takes private: true in its line"
	}
	return address.Error() + ", which no grant names"
}

// unsent returns the error for a missing answer. A request that was never sent is removed from the receipt.
func unsent(ctx context.Context, g *Gate, r *egress.Request, secrets []string, err error) error {
	var address *egress.AddressError
	var ask *runtime.AskError
	switch {
	case errors.As(err, &address):
		g.record.uncount("net", r.Target())
		for _, name := range secrets {
			g.record.uncount("secret", name)
		}
		return address
	case over(ctx) != nil:
		return over(ctx)
	case errors.As(err, &ask):
		redacted := *ask
		redacted.Message = g.rules.redact(ask.Message)
		return &redacted
	}
	return err
}

// intended describes the change that a request makes; empty for a safe method.
func intended(rules *rules, r *egress.Request) string {
	if grant.IsSafe(r.Method) {
		return ""
	}
	at := *r.URL
	at.RawQuery = ""
	return rules.redact(cut(r.Method, maxMethod) + " " + cut(at.Redacted(), maxAct))
}

// watchIntent watches one request. begin records its intent before it is sent. recant is for its failure: if no
// connection was ever available, it withdraws the intent and returns a one-time answer.
func watchIntent(ctx context.Context, g *Gate, what string) (watched context.Context, begin func() error, recant func()) {
	taken := g.consent().taken
	if what == "" && taken == nil {
		return ctx, func() error { return nil }, func() {}
	}
	var begun, left atomic.Bool
	begin = func() error {
		if what == "" {
			return nil
		}
		err := g.intents.intend(what)
		begun.Store(err == nil)
		return err
	}
	recant = func() {
		if left.Load() {
			return
		}
		if begun.Load() {
			g.intents.recant(what)
		}
		g.consent().giveBack(ctx, taken)
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { left.Store(true) }}), begin, recant
}

func webFamily() family {
	return family{
		name: "net", acts: []string{"GET https://example.com/x"}, explain: explainRequest,
		methods: map[string]method{"http/fetch": fetch},
		replay:  replayRecorded, held: "not sent", bindable: true, confirmable: true,
	}
}

// explainRequest explains a request.
func explainRequest(r *rules, act string) (Explanation, bool, error) {
	verb, rest := cutVerb(act)
	if !strings.Contains(rest, "://") || !grant.IsMethod(strings.ToUpper(verb)) {
		return Explanation{}, false, nil
	}
	u, err := egress.ParseURL(rest, nil)
	if err != nil {
		return Explanation{}, false, errors.New(asAskError(err).Message)
	}
	return r.explain(requestEffect(r, &egress.Request{Method: strings.ToUpper(verb), URL: u})), true, nil
}
