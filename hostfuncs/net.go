package hostfuncs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits of what a guest sends. They are far above what programs need and far below what hurts.
const (
	// maxRequestBody is kept in memory, so that a redirect can send it again. A line may set less.
	maxRequestBody = 8 << 20
	maxFields      = 128
	maxFieldBytes  = 64 << 10
)

// request is one hop of a fetch: what the guest asked for, or what a redirect made of it.
type request struct {
	method string
	url    *url.URL // canonical
	header http.Header
	body   *payload // nil if there is none
	origin *url.URL // the first one, if a redirect led here
	from   string   // the address that redirected here
	secret bool     // the host put a value into it
	via    string   // what a receipt adds to it
}

// payload is a request body. It is read when the first hop is allowed, and kept for the later ones.
type payload struct {
	take func() (io.ReadCloser, int64, error) // nil once read
	data []byte
}

// streamMember is the name under which a body is a stream.
const streamMember = "dev.sallyport/stream"

// fetch serves http/fetch:
//
//	{method?, url, headers?: {name: text|[text]}, body?: text|{"dev.sallyport/stream": n}}
//	→ {status, url, headers: {name: text|[text]}, body: {"dev.sallyport/stream": n}}
//
// The method is GET unless it is said; names of fields in the answer are in lower case, and a field
// that came more than once is a list. Redirects are followed, each as an effect of its own; url is
// where the last one led. The answer's body is a stream that lives as long as the call.
func (g *Gate) fetch(ctx context.Context, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	res, err := g.perform(ctx, params, s)
	if err != nil {
		return nil, err
	}
	return deliver(appendHead(nil, res), res.body, s)
}

// perform does what a fetch asks for.
func (g *Gate) perform(ctx context.Context, params json.RawMessage, s runtime.Streams) (*response, error) {
	if s == nil {
		return nil, askErrorf(runtime.KindUnsupported, "http/fetch needs streams, and there are none here")
	}
	r, err := parseFetch(params, s)
	if err != nil {
		return nil, err
	}
	if g.call.ReadOnly && r.method != http.MethodGet && r.method != http.MethodHead {
		return nil, g.deny(effect{family: "net", act: r.method + " " + r.url.String()}, &refusal{reason: saysReadOnly})
	}
	if g.call.DryRun && r.method != http.MethodGet && r.method != http.MethodHead {
		g.held(r.method + " " + r.url.Redacted())
		return nil, askErrorf(runtime.KindUnavailable, "this call only tries: %s is not sent", r.method)
	}
	return g.follow(ctx, r)
}

// deliver gives the guest an answer whose body is a stream.
func deliver(head json.RawMessage, body io.ReadCloser, s runtime.Streams) (json.RawMessage, error) {
	id, err := s.Open(body)
	if err != nil {
		return nil, err // Open closed the body
	}
	return fmt.Appendf(head, `,"body":{%q:%d}}`, streamMember, id), nil
}

func parseFetch(params json.RawMessage, s runtime.Streams) (*request, error) {
	r := &request{method: http.MethodGet, header: http.Header{}}
	if raw := rawjson.Get(params, "method"); !rawjson.IsNull(raw) {
		method, _ := rawjson.String(raw)
		r.method = strings.ToUpper(method)
		if !grant.IsMethod(r.method) {
			return nil, askErrorf(runtime.KindInvalid, "method %q is not allowed", cut(method, maxMethod))
		}
	}
	text, ok := rawjson.String(rawjson.Get(params, "url"))
	if !ok {
		return nil, askErrorf(runtime.KindInvalid, "a fetch needs a url")
	}
	var err error
	if r.url, err = parseURL(text, nil); err != nil {
		return nil, err
	}
	if err := r.parseHeader(rawjson.Get(params, "headers")); err != nil {
		return nil, err
	}
	r.body, err = parseBody(rawjson.Get(params, "body"), s)
	return r, err
}

// parseURL reads an address, relative to base if there is one, and makes it canonical. Names of other
// scripts become their xn-- form before they are looked at.
func parseURL(text string, base *url.URL) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, askErrorf(runtime.KindInvalid, "url %q cannot be read", printable(cut(text, maxAct)))
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if host := u.Hostname(); !isASCII(host) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return nil, askErrorf(runtime.KindInvalid, "host %q is not a name", printable(cut(host, maxAct)))
		}
		port := ""
		if i := strings.LastIndexByte(u.Host, ':'); i >= 0 {
			port = u.Host[i:]
		}
		u.Host = ascii + port
	}
	c, err := grant.Canonical(u)
	if err != nil {
		return nil, askErrorf(runtime.KindInvalid, "%s", printable(cut(err.Error(), maxAct)))
	}
	return c, nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// parseBody reads text, or the number of a stream that the guest wrote.
func parseBody(raw json.RawMessage, s runtime.Streams) (*payload, error) {
	if rawjson.IsNull(raw) {
		return nil, nil
	}
	if text, ok := rawjson.String(raw); ok {
		return &payload{data: []byte(text)}, nil
	}
	id, err := strconv.ParseUint(string(rawjson.Get(raw, streamMember)), 10, 32)
	if err != nil {
		return nil, askErrorf(runtime.KindInvalid, "a body is text or {%q: n}", streamMember)
	}
	return &payload{take: func() (io.ReadCloser, int64, error) { return s.Take(uint32(id)) }}, nil
}

// bytes returns the body, at most limit bytes of it.
func (p *payload) bytes(limit int64) ([]byte, error) {
	if p == nil {
		return nil, nil
	}
	tooLong := askErrorf(runtime.KindLimit, "the body of the request is longer than %d bytes", limit)
	if take := p.take; take != nil {
		p.take = nil
		r, size, err := take()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		if size > limit {
			return nil, tooLong
		}
		if p.data, err = io.ReadAll(io.LimitReader(r, limit+1)); err != nil {
			return nil, askErrorf(runtime.KindInvalid, "the body of the request cannot be read")
		}
	}
	if int64(len(p.data)) > limit {
		return nil, tooLong
	}
	return p.data, nil
}

// maxRedirects is how many a fetch follows, half of what browsers do.
const maxRedirects = 10

// follow performs a request and whatever it is redirected to. Each hop passes the gate by itself.
func (g *Gate) follow(ctx context.Context, r *request) (*response, error) {
	for range maxRedirects + 1 {
		res, err := g.hop(ctx, r)
		if err != nil {
			return nil, err
		}
		next, err := r.redirect(res)
		if err != nil || next == nil {
			if err != nil {
				res.body.Close()
			}
			return res, err
		}
		res.body.Close()
		r = next
	}
	return nil, askErrorf(runtime.KindLimit, "more than %d redirects, the last to %s", maxRedirects, cut(r.url.String(), maxAct))
}

// hop performs one request.
func (g *Gate) hop(ctx context.Context, r *request) (res *response, err error) {
	act := r.method + " " + r.url.String()
	proxy, err := g.policy.host.proxy(r.url)
	if err != nil {
		return nil, askErrorf(runtime.KindUnavailable, "the proxy settings of the host cannot be read")
	}
	if proxy != nil {
		r.via = " via proxy"
	}
	if r.from != "" {
		act += " (where " + cut(r.from, maxAct) + " redirects)"
	}
	err = g.pass(ctx, effect{
		family: "net", act: act, target: r.target(),
		decide: func(s *grant.Set) grant.Decision { return r.decide(s) },
		near:   func(d grant.Decision) string { return g.policy.host.ranges.near(r.url.Hostname(), d) },
		do: func(ctx context.Context, d grant.Decision) error {
			res, err = g.send(withProxy(ctx, proxy), r, d)
			return err
		},
	})
	return res, err
}

func (r *request) decide(s *grant.Set) grant.Decision {
	if r.origin != nil {
		return s.Redirect(r.method, r.origin, r.url)
	}
	return s.Net(r.method, r.url)
}

// target is what a receipt counts a request under: without the path, which may hold values.
func (r *request) target() string { return r.method + " " + r.url.Scheme + "://" + r.url.Host + r.via }

// appendHead writes the answer of a fetch up to its body.
func appendHead(dst []byte, res *response) json.RawMessage {
	dst = fmt.Appendf(dst, `{"status":%d,"url":`, res.status)
	dst = rawjson.AppendString(dst, res.url)
	dst = append(dst, `,"headers":{`...)
	for i, name := range slices.Sorted(maps.Keys(res.header)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, strings.ToLower(name))
		dst = append(dst, ':')
		dst = appendValues(dst, res.header[name])
	}
	return append(dst, '}')
}

func appendValues(dst []byte, values []string) []byte {
	if len(values) == 1 {
		return rawjson.AppendString(dst, values[0])
	}
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, v)
	}
	return append(dst, ']')
}
