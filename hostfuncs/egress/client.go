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

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits of one request and of the connections of one client.
const (
	dialTime    = 10 * time.Second // one connection attempt; longer is a dead host
	tlsTime     = 10 * time.Second // TLS handshake
	headerTime  = 60 * time.Second // until the response header; servers that need longer should use other means
	idleTime    = 30 * time.Second // lifetime of an unused connection
	maxIdle     = 16               // unused connections
	maxInFlight = 16               // requests with an open response body
	maxAttempts = 4                // connections that net/http tries for one safe request
	// maxResponseHeader and maxResponse limit the header and the body of a response, in bytes.
	maxResponseHeader = 256 << 10
	maxResponse       = 64 << 20
)

// Options configure a Client. The zero value is usable.
type Options struct {
	// Resolver resolves host names; nil is the system's.
	Resolver Resolver
	// Dial opens a TCP connection to a checked address, or to a proxy; nil is the system's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy returns the proxy for a URL, as http.ProxyFromEnvironment does. Nil, or a nil result, means no proxy. The
	// target is resolved and checked in any case, and the proxy is asked for a tunnel to the checked address, also for
	// http. Proxies are reached over http or https.
	Proxy func(target *url.URL) (*url.URL, error)
	// TLS configures the verification of servers; nil uses the system's roots.
	TLS *tls.Config
	// UserAgent is the default User-Agent; empty is "sallyport".
	UserAgent string
	// MaxResponse limits the body of a response, in bytes; 0 means 64 MiB.
	MaxResponse int64
	// Instead answers requests in place of the web: no name is resolved and nothing is sent. Nil is the web.
	Instead http.RoundTripper
}

// Client sends the requests of one plugin. Connections are never shared between clients, nor between requests of
// different Reach. A request that is not safe has its own connection. It is safe for concurrent use.
type Client struct {
	o          Options
	ranges     table
	transports map[use]*http.Transport
	inFlight   atomic.Int64
}

// use is the key of a connection pool.
type use struct {
	reach Reach
	once  bool // an unsafe request, sent on its own connection
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
		o.MaxResponse = maxResponse
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

// Foresee returns the *AddressError with which a connection to a host would be denied, or nil if none is known. No
// name is resolved: found is an address that the host resolved to before, or the zero Addr.
func (c *Client) Foresee(host string, r Reach, found netip.Addr) error {
	return c.dialer(r).foresee(host, found)
}

// ForeseeShown is Foresee for a URL that the browser of the user opens, which also resolves names of the user's
// network.
func (c *Client) ForeseeShown(host string, r Reach) error {
	if isLocalName(host) && !(r.Named && r.Private) {
		return &AddressError{Host: host, Class: Private}
	}
	return c.Foresee(host, r, netip.Addr{})
}

func (c *Client) newTransport(u use) *http.Transport {
	d := c.dialer(u.reach)
	t := &http.Transport{
		Proxy:                  nil, // the dialer asks the proxy for a tunnel to the checked address
		DialContext:            d.dial,
		TLSClientConfig:        c.o.TLS.Clone(),
		TLSHandshakeTimeout:    tlsTime,
		ResponseHeaderTimeout:  headerTime,
		MaxResponseHeaderBytes: maxResponseHeader,
		MaxIdleConns:           maxIdle,
		MaxConnsPerHost:        maxInFlight,
		IdleConnTimeout:        idleTime,
		DisableCompression:     true, // this package decompresses, with a limit
		ForceAttemptHTTP2:      !u.once,
	}
	if u.once {
		sendOnce(t)
	}
	return t
}

// sendOnce configures a transport to use a new HTTP/1.1 connection for each request. net/http silently retries a
// request on a kept connection that breaks (any method, if it has an Idempotency-Key) and on an HTTP/2 connection
// whose server refused the stream. A new connection with one request has neither.
func sendOnce(t *http.Transport) {
	t.DisableKeepAlives = true
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	if t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = nil
	}
}

// Close closes the unused connections.
func (c *Client) Close() {
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// Proxy returns the proxy for a URL; nil if there is none.
func (c *Client) Proxy(u *url.URL) (*url.URL, error) {
	if c.o.Proxy == nil {
		return nil, nil
	}
	return c.o.Proxy(u)
}

// ClassOf returns the class of a host by its name or address alone, without resolving it. Most names are Public.
func (c *Client) ClassOf(host string) Class { return c.ranges.classOf(host) }

// acquire counts a request in flight. It never waits for a free place: the waiting guest itself would hold them all.
func (c *Client) acquire() (release func(), err error) {
	if c.inFlight.Add(1) > maxInFlight {
		c.inFlight.Add(-1)
		return nil, runtime.AskErrorf(runtime.KindLimit, "more than %d requests of the plugin are in flight: read or close their answers", maxInFlight)
	}
	return func() { c.inFlight.Add(-1) }, nil
}

// Exchange holds the decisions and hooks of the caller of Do. No function is nil.
type Exchange struct {
	Reach Reach
	// Searched means that the response is searched for values of secrets. Only encodings that the host can decode are
	// requested then.
	Searched bool
	Proxy    *url.URL // nil for none
	// Prepare makes the last changes to the request, and reports whether it contains a secret.
	Prepare func(out *http.Request) (secret bool, err error)
	// Answered receives the response header, which it may change, and returns the redactor for the body; nil for none.
	Answered func(status int, h http.Header) *secret.Redactor
	// Read is called with the number of bytes read of the body. An error ends the reading.
	Read func(n int) error
	// Done is called when the response body is closed, and never if there is no response.
	Done func()
}

// Do sends one request without following redirects. The response body is closed when ctx ends. The error is an
// *AddressError if the address of the host is denied, else an *AskError.
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

func (c *Client) transport(u use) http.RoundTripper {
	if c.o.Instead != nil {
		return c.o.Instead
	}
	return c.transports[u]
}

// roundTrip sends the request and checks the response header.
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
		out.Header.Set("Accept-Encoding", "identity") // an encoded body cannot be searched
	}
	res, err := c.transport(use{x.Reach, !grant.IsSafe(r.Method)}).RoundTrip(out)
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

// bounded limits the number of connections for one request: net/http retries without limit while an HTTP/2 server
// sends GOAWAY each time.
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

// build returns the outgoing http.Request, with the canonical URL and without fields that the guest may not set.
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

// SetBody sets the body of a request. Only a safe request gets GetBody, which allows net/http to send it again.
func SetBody(out *http.Request, data []byte) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	out.ContentLength = int64(len(data))
	out.Body, _ = open()
	if len(data) == 0 {
		out.Body = http.NoBody
	}
	if grant.IsSafe(out.Method) {
		out.GetBody = open
	}
}

// wantsGzip reports whether the host may request gzip and decompress it: not if the guest sets Accept-Encoding or
// Range itself.
func (r *Request) wantsGzip() bool {
	return r.Method != http.MethodHead && r.Header.Get("Accept-Encoding") == "" && r.Header.Get("Range") == ""
}

// gzipped reports whether the host must decompress the response.
func (r *Request) gzipped(res *http.Response) bool {
	return r.wantsGzip() && strings.EqualFold(encodingOf(res), "gzip")
}

// encodingOf returns all encodings of a response; empty for identity.
func encodingOf(res *http.Response) string {
	all := strings.Join(res.Header.Values("Content-Encoding"), ", ")
	if strings.EqualFold(all, "identity") {
		return ""
	}
	return all
}

// unfit returns the reason not to give a response to the guest, or nil.
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

// receive prepares the response and its body.
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
