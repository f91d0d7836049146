package hostfuncs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits of one request and of the connections of one plugin.
const (
	dialTime    = 10 * time.Second // one connection attempt; longer is a dead host
	tlsTime     = 10 * time.Second // its handshake
	headerTime  = 60 * time.Second // until the answer begins; servers that think longer use other means
	fetchTime   = 10 * time.Minute // with the body, whatever the deadline of the call
	idleTime    = 30 * time.Second // an unused connection stays open
	maxIdle     = 16               // unused connections of a plugin
	maxInFlight = 16               // requests of a plugin whose answer is not read to its end
	// maxResponseHeader and maxResponseBody bound what a server makes the host hold and the guest read.
	maxResponseHeader = 256 << 10
	maxResponseBody   = 64 << 20
)

// client is the HTTP client of one policy. Connections made for a host that a grant spells out, which
// may lead to private addresses, and all others are kept apart, and no policy shares any.
type client struct {
	named, other *http.Transport
	inFlight     atomic.Int64
}

func newClient(h *Host) *client {
	return &client{named: newTransport(h, true), other: newTransport(h, false)}
}

func newTransport(h *Host, named bool) *http.Transport {
	d := &dialer{resolver: h.resolver, open: h.dial, ranges: h.ranges, tls: h.tls, named: named}
	return &http.Transport{
		Proxy:                  nil, // the dialer asks it for a tunnel to the address that was checked
		DialContext:            d.dial,
		TLSClientConfig:        h.tls.Clone(),
		TLSHandshakeTimeout:    tlsTime,
		ResponseHeaderTimeout:  headerTime,
		MaxResponseHeaderBytes: maxResponseHeader,
		MaxIdleConns:           maxIdle,
		MaxConnsPerHost:        maxInFlight,
		IdleConnTimeout:        idleTime,
		DisableCompression:     true, // decompression is ours, with a bound
		ForceAttemptHTTP2:      true,
	}
}

func (c *client) close() {
	c.named.CloseIdleConnections()
	c.other.CloseIdleConnections()
}

// acquire takes one of the places of requests in flight. It never waits: the guest that holds them all
// is the one that would wait.
func (c *client) acquire() (release func(), err error) {
	if c.inFlight.Add(1) > maxInFlight {
		c.inFlight.Add(-1)
		return nil, askErrorf(runtime.KindLimit, "more than %d requests of the plugin are in flight: read or close their answers", maxInFlight)
	}
	return func() { c.inFlight.Add(-1) }, nil
}

// response is the answer of one hop.
type response struct {
	status int
	url    string
	header http.Header
	body   io.ReadCloser
}

// send performs one request that was allowed.
func (g *Gate) send(ctx context.Context, r *request, d grant.Decision) (*response, error) {
	limit := int64(maxRequestBody)
	if d.Body > 0 {
		limit = min(limit, d.Body)
	}
	data, err := r.body.bytes(limit)
	if err != nil {
		return nil, err
	}
	if err := g.overSent(int64(len(data))); err != nil {
		return nil, err
	}
	release, err := g.policy.net.acquire()
	if err != nil {
		return nil, err
	}
	ctx, cancel := g.fetchContext(ctx)
	done := func() { cancel(); release() }
	out := r.build(ctx, data, g.policy.host.agent)
	if r.secret, err = g.inject(out, r, data); err != nil {
		defer done()
		return nil, err
	}
	if r.secret {
		out.Header.Set("Accept-Encoding", "identity") // what is encoded cannot be looked through
	}
	res, err := g.policy.net.transport(d.Named).RoundTrip(out)
	if err != nil {
		defer done()
		return nil, g.redactError(r.failure(ctx, err))
	}
	g.count("net", r.target(), 0, int64(len(data)), 0)
	return g.receive(r, res, done)
}

func (c *client) transport(named bool) *http.Transport {
	if named {
		return c.named
	}
	return c.other
}

// fetchContext is done with the call, with the gate, and when a fetch has lasted too long.
func (g *Gate) fetchContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	stop := context.AfterFunc(g.stop, cancel)
	return ctx, func() { stop(); cancel() }
}

// build makes the request that goes out: the canonical address, and no field that the guest may not set.
func (r *request) build(ctx context.Context, data []byte, agent string) *http.Request {
	out := (&http.Request{
		Method: r.method, URL: r.url, Host: r.url.Host, Header: r.header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if r.body != nil {
		out.ContentLength = int64(len(data))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		out.Body, _ = out.GetBody()
		if len(data) == 0 {
			out.Body = http.NoBody
		}
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", agent)
	}
	if r.wantsGzip() {
		out.Header.Set("Accept-Encoding", "gzip")
	}
	return out
}

// wantsGzip reports whether the host may ask for a compressed answer and undo it: not if the guest
// speaks about encodings itself, or about a part of the bytes.
func (r *request) wantsGzip() bool {
	return r.method != http.MethodHead && r.header.Get("Accept-Encoding") == "" && r.header.Get("Range") == ""
}

// redactError takes values out of what an error says.
func (g *Gate) redactError(err error) error {
	var ask *runtime.AskError
	if errors.As(err, &ask) {
		clean := *ask
		clean.Message = g.redact(ask.Message)
		return &clean
	}
	return err
}

// receive takes the answer's header and prepares its body.
func (g *Gate) receive(r *request, res *http.Response, done func()) (*response, error) {
	if res.StatusCode == http.StatusSwitchingProtocols {
		res.Body.Close()
		done()
		return nil, askErrorf(runtime.KindUnavailable, "%s answers in another protocol", r.url.Host)
	}
	limit := g.policy.host.maxBody
	if encoding := res.Header.Get("Content-Encoding"); r.secret && encoding != "" && !strings.EqualFold(encoding, "identity") {
		res.Body.Close()
		done()
		return nil, askErrorf(runtime.KindUnavailable, "%s answers in an encoding that was not asked for", r.url.Host)
	}
	g.noteRetry(res.StatusCode, res.Header)
	g.redactHeader(res.Header)
	b := &body{from: res.Body, redact: g.policy.vault.redactor.Load(), left: limit, limit: limit}
	stop := context.AfterFunc(g.stop, func() { b.Close() }) // should nobody else close it
	b.done = func() { stop(); done() }
	b.read = func(n int) error {
		g.count("net", r.target(), 0, 0, int64(n))
		return g.overReceived(int64(n))
	}
	if r.wantsGzip() && strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") {
		b.gzip = true
		res.Header.Del("Content-Encoding")
		res.Header.Del("Content-Length")
	} else if res.ContentLength > limit && r.method != http.MethodHead {
		b.Close()
		return nil, askErrorf(runtime.KindLimit, "the answer of %s is longer than %d bytes", r.url.Host, limit)
	}
	if b.redact != nil {
		res.Header.Del("Content-Length") // it may differ
	}
	dropConnectionFields(res.Header)
	return &response{status: res.StatusCode, url: r.url.String(), header: res.Header, body: b}, nil
}

// failure says why there is no answer, without what the network or the resolver would tell about
// machines that the guest may not see.
func (r *request) failure(ctx context.Context, err error) error {
	var refused *addressError
	if errors.As(err, &refused) {
		return refused.refusal(r)
	}
	var dns *net.DNSError
	var timeout net.Error
	var errno syscall.Errno
	var proxy *proxyError
	switch {
	case over(ctx) != nil:
		return over(ctx)
	case errors.As(err, &dns) && dns.IsNotFound:
		return askErrorf(runtime.KindUnavailable, "host %s is not known", r.url.Hostname())
	case errors.As(err, &timeout) && timeout.Timeout():
		return askErrorf(runtime.KindTimeout, "%s does not answer in time", r.url.Host)
	case errors.As(err, &dns):
		return askErrorf(runtime.KindUnavailable, "host %s cannot be looked up", r.url.Hostname())
	case errors.As(err, &proxy):
		return askErrorf(runtime.KindUnavailable, "the proxy gives no way to %s: %s", r.url.Host, proxy.reason)
	case errors.As(err, &errno):
		return askErrorf(runtime.KindUnavailable, "%s cannot be reached: %s", r.url.Host, errno)
	}
	return askErrorf(runtime.KindUnavailable, "%s gives no answer: %s", r.url.Host, printable(cut(err.Error(), maxAct)))
}
