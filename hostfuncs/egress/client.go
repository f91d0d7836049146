package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits of one request and of the connections of one client.
const (
	dialTime    = 10 * time.Second // one connection attempt; longer is a dead host
	tlsTime     = 10 * time.Second // its handshake
	headerTime  = 60 * time.Second // until the answer begins; servers that think longer use other means
	idleTime    = 30 * time.Second // an unused connection stays open
	maxIdle     = 16               // unused connections
	maxInFlight = 16               // requests whose answer is not read to its end
	maxAttempts = 4                // connections that net/http tries for one request that changes nothing
	// maxResponseHeader and MaxResponse bound what a server makes the host hold and the guest read, in bytes.
	maxResponseHeader = 256 << 10
	MaxResponse       = 64 << 20
)

// Options configure a Client. The zero value is usable.
type Options struct {
	// Resolver finds the addresses of host names; nil is the system's.
	Resolver Resolver
	// Dial opens a TCP connection to an address that was checked, or to a proxy; nil is the system's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy chooses the proxy for an address, as http.ProxyFromEnvironment does; nil, or a nil answer,
	// is none. The target is resolved and checked here all the same, and the proxy is asked for a
	// tunnel to the address that was checked, also for http. Proxies speak http or https.
	Proxy func(target *url.URL) (*url.URL, error)
	// TLS is how servers are verified; nil is the system's roots.
	TLS *tls.Config
	// UserAgent is what requests carry unless they set their own; empty is "sallyport".
	UserAgent string
	// MaxResponse bounds the body of an answer, in bytes; 0 is MaxResponse.
	MaxResponse int64
}

// Client makes the requests of one plugin. Connections made for a host that a grant spells out, which may
// lead to private addresses, and all others are kept apart, and no two clients share any. A request that may change
// something has a connection of its own. It is safe for concurrent use.
type Client struct {
	o          Options
	ranges     table
	transports map[use]*http.Transport
	inFlight   atomic.Int64
}

// use is what connections are made for: those of two uses are never shared.
type use struct {
	reach Reach
	once  bool // one request, which may change something
}

// NewClient returns a client. Close it to drop its connections.
func NewClient(o Options) *Client {
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: dialTime}).DialContext
	}
	if o.UserAgent == "" {
		o.UserAgent = "sallyport"
	}
	if o.MaxResponse == 0 {
		o.MaxResponse = MaxResponse
	}
	c := &Client{o: o, ranges: newTable(), transports: map[use]*http.Transport{}}
	for _, r := range []Reach{{}, {Named: true}, {Named: true, Private: true}} {
		for _, once := range []bool{false, true} {
			c.transports[use{r, once}] = c.newTransport(use{r, once})
		}
	}
	return c
}

func (c *Client) dialer(r Reach) *dialer {
	return &dialer{resolver: c.o.Resolver, open: c.o.Dial, ranges: c.ranges, tls: c.o.TLS, reach: r}
}

// Foresee says what a connection to a host would be refused for, nil if nothing is known that forbids it. Nothing
// is looked up: found is the address that the host was seen to lead to, the zero Addr if it was not seen. The error is an
// *AddressError.
func (c *Client) Foresee(host string, r Reach, found netip.Addr) error {
	return c.dialer(r).foresee(host, found)
}

// ForeseeShown is Foresee for an address that a person's browser opens, which finds names of its own network as well.
func (c *Client) ForeseeShown(host string, r Reach) error {
	if isLocalName(host) && !(r.Named && r.Private) {
		return &AddressError{Host: host, Class: Private}
	}
	return c.Foresee(host, r, netip.Addr{})
}

func (c *Client) newTransport(u use) *http.Transport {
	d := c.dialer(u.reach)
	t := &http.Transport{
		Proxy:                  nil, // the dialer asks it for a tunnel to the address that was checked
		DialContext:            d.dial,
		TLSClientConfig:        c.o.TLS.Clone(),
		TLSHandshakeTimeout:    tlsTime,
		ResponseHeaderTimeout:  headerTime,
		MaxResponseHeaderBytes: maxResponseHeader,
		MaxIdleConns:           maxIdle,
		MaxConnsPerHost:        maxInFlight,
		IdleConnTimeout:        idleTime,
		DisableCompression:     true, // decompression is ours, with a bound
		ForceAttemptHTTP2:      !u.once,
	}
	if u.once {
		sendOnce(t)
	}
	return t
}

// sendOnce has a transport make a new connection for each request, which speaks HTTP/1.1. net/http sends a request
// again, without a word, on a kept connection that breaks (any method, if it has an Idempotency-Key) and on an HTTP/2
// connection whose server says that it refused the stream. A new connection that carries one request has neither.
func sendOnce(t *http.Transport) {
	t.DisableKeepAlives = true
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	if t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = nil
	}
}

// Close drops the connections that nothing uses.
func (c *Client) Close() {
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// Proxy is the proxy for an address, nil if there is none.
func (c *Client) Proxy(u *url.URL) (*url.URL, error) {
	if c.o.Proxy == nil {
		return nil, nil
	}
	return c.o.Proxy(u)
}

// ClassOf is what a host is for by its very name or address; most names tell nothing, which is Public.
func (c *Client) ClassOf(host string) Class { return c.ranges.classOf(host) }

// acquire takes one of the places of requests in flight. It never waits: the guest that holds them all
// is the one that would wait.
func (c *Client) acquire() (release func(), err error) {
	if c.inFlight.Add(1) > maxInFlight {
		c.inFlight.Add(-1)
		return nil, runtime.AskErrorf(runtime.KindLimit, "more than %d requests of the plugin are in flight: read or close their answers", maxInFlight)
	}
	return func() { c.inFlight.Add(-1) }, nil
}

// Exchange is what the caller of Do wants to decide and to see. No function is nil.
type Exchange struct {
	Reach Reach
	// Searched says that the answer is looked through for values of secrets, so that no encoding is asked for which the
	// host cannot undo.
	Searched bool
	Proxy    *url.URL // nil is none
	// Prepare has the last word on what goes out, and says whether it is a secret.
	Prepare func(out *http.Request) (secret bool, err error)
	// Answered sees the header of the answer, which it may change, and says what is to be taken out of the body;
	// nil takes out nothing.
	Answered func(status int, h http.Header) *secret.Redactor
	// Read is told how many bytes of the body were read; its error ends the reading.
	Read func(n int) error
	// Done is called when the body of the answer is closed, and never if there is no answer.
	Done func()
}

// Do performs one request, redirects not followed. The body of the answer ends with ctx. The error is an
// *AddressError if the host leads where it may not, else an *AskError.
func (c *Client) Do(ctx context.Context, r *Request, data []byte, x Exchange) (*Response, error) {
	release, err := c.acquire()
	if err != nil {
		return nil, err
	}
	res, err := c.roundTrip(ctx, r, data, x)
	if err != nil {
		release()
		return nil, err
	}
	return c.receive(ctx, r, res, x, func() { release(); x.Done() }), nil
}

// roundTrip sends the request and takes the header of an answer that fits.
func (c *Client) roundTrip(ctx context.Context, r *Request, data []byte, x Exchange) (*http.Response, error) {
	if x.Searched {
		r.Header.Del("Accept-Encoding")
	}
	out := r.build(bounded(withProxy(ctx, x.Proxy)), data, c.o.UserAgent)
	secret, err := x.Prepare(out)
	if err != nil {
		return nil, err
	}
	if secret {
		out.Header.Set("Accept-Encoding", "identity") // what is encoded cannot be looked through
	}
	res, err := c.transports[use{x.Reach, !Safe(r.Method)}].RoundTrip(out)
	if err != nil {
		if cause := context.Cause(out.Context()); cause == errGoingAway {
			err = cause
		}
		return nil, r.failure(err)
	}
	if problem := c.unfit(r, res, secret, x.Searched); problem != nil {
		res.Body.Close()
		return nil, problem
	}
	return res, nil
}

// bounded ends a request for which net/http takes one connection after the other: it does so without an end as long as
// an HTTP/2 server says each time that it goes away.
func bounded(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	attempts := 0
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if attempts++; attempts > maxAttempts {
			cancel(errGoingAway)
		}
	}})
}

var errGoingAway = errors.New("the server goes away each time it is asked")

// build makes the request that goes out: the canonical address, and no field that the guest may not set.
func (r *Request) build(ctx context.Context, data []byte, agent string) *http.Request {
	out := (&http.Request{
		Method: r.Method, URL: r.URL, Host: r.URL.Host, Header: r.Header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if r.Body != nil {
		SetBody(out, data)
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", agent)
	}
	if r.wantsGzip() {
		out.Header.Set("Accept-Encoding", "gzip")
	}
	return out
}

// SetBody gives a request its body. Only a request that changes nothing gets the means to send it again.
func SetBody(out *http.Request, data []byte) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	out.ContentLength = int64(len(data))
	out.Body, _ = open()
	if len(data) == 0 {
		out.Body = http.NoBody
	}
	if Safe(out.Method) {
		out.GetBody = open
	}
}

// wantsGzip reports whether the host may ask for a compressed answer and undo it: not if the guest
// speaks about encodings itself, or about a part of the bytes.
func (r *Request) wantsGzip() bool {
	return r.Method != http.MethodHead && r.Header.Get("Accept-Encoding") == "" && r.Header.Get("Range") == ""
}

// gzipped reports whether the host has to undo the compression of an answer.
func (r *Request) gzipped(res *http.Response) bool {
	return r.wantsGzip() && strings.EqualFold(encodingOf(res), "gzip")
}

// encodingOf is every encoding of an answer; identity is none.
func encodingOf(res *http.Response) string {
	all := strings.Join(res.Header.Values("Content-Encoding"), ", ")
	if strings.EqualFold(all, "identity") {
		return ""
	}
	return all
}

// unfit says why an answer is not given to the guest, nil if it is.
func (c *Client) unfit(r *Request, res *http.Response, secret, searched bool) error {
	switch {
	case res.StatusCode == http.StatusSwitchingProtocols:
		return runtime.AskErrorf(runtime.KindUnavailable, "%s answers in another protocol", r.URL.Host)
	case (secret || searched && !r.gzipped(res)) && encodingOf(res) != "":
		return runtime.AskErrorf(runtime.KindUnavailable, "%s answers in an encoding that was not asked for", r.URL.Host)
	case !r.gzipped(res) && res.ContentLength > c.o.MaxResponse && r.Method != http.MethodHead:
		return runtime.AskErrorf(runtime.KindLimit, "the answer of %s is longer than %d bytes", r.URL.Host, c.o.MaxResponse)
	}
	return nil
}

// receive prepares the answer and its body.
func (c *Client) receive(ctx context.Context, r *Request, res *http.Response, x Exchange, done func()) *Response {
	gzipped := r.gzipped(res)
	b := &body{
		from: res.Body, gzip: gzipped, redact: x.Answered(res.StatusCode, res.Header),
		left: c.o.MaxResponse, limit: c.o.MaxResponse, read: x.Read, done: done,
	}
	b.unstop = context.AfterFunc(ctx, func() { b.finish() })
	if gzipped {
		res.Header.Del("Content-Encoding")
	}
	if gzipped || b.redact != nil {
		res.Header.Del("Content-Length") // it may differ
	}
	dropConnectionFields(res.Header)
	return &Response{Status: res.StatusCode, URL: r.URL.String(), Header: res.Header, Body: b}
}
