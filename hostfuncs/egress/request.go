package egress

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Maximum lengths, in bytes, of guest text quoted in an error.
const (
	maxText   = 512
	maxMethod = 64
)

// shown returns untrusted text in the form that errors quote it.
func shown(s string) string { return sanitize.Visible(sanitize.Cut(s, maxText)) }

// Request is one hop of a fetch: the request of the guest, or of a redirect.
type Request struct {
	Method string
	URL    *url.URL // canonical
	Header http.Header
	Body   *Payload // nil if there is none
	Origin *url.URL // first URL, if the request is a redirect
	From   string   // URL that redirected here
	Via    string   // suffix of Target, such as " via proxy"

	Manual  bool          // redirects are not followed: the guest gets them as responses
	Timeout time.Duration // for the response with its body; 0 is none
}

// Target returns the key under which receipts count a request. It omits the path, which may contain values.
func (r *Request) Target() string { return r.Method + " " + r.URL.Scheme + "://" + r.URL.Host + r.Via }

// Parse reads {method?, url, headers?: {name: text|[text]}, body?: text|{"dev.sallyport/stream": n},
// redirect?: "follow"|"manual", timeoutMs?: number}. The default method is GET.
func Parse(params json.RawMessage, s runtime.Streams) (*Request, error) {
	r := &Request{Method: http.MethodGet, Header: http.Header{}}
	if raw := jsonraw.Get(params, "method"); !jsonraw.IsNull(raw) {
		method, _ := jsonraw.String(raw)
		r.Method = strings.ToUpper(method)
		if !grant.IsMethod(r.Method) {
			return nil, runtime.AskErrorf(runtime.KindInvalid, "method %q is not allowed", sanitize.Cut(method, maxMethod))
		}
	}
	text, ok := jsonraw.String(jsonraw.Get(params, "url"))
	if !ok {
		return nil, runtime.AskErrorf(runtime.KindInvalid, "a fetch needs a url")
	}
	var err error
	if r.URL, err = ParseURL(text, nil); err != nil {
		return nil, err
	}
	if err := r.parseHeader(jsonraw.Get(params, "headers")); err != nil {
		return nil, err
	}
	if err := r.parseOptions(params); err != nil {
		return nil, err
	}
	r.Body, err = parseBody(jsonraw.Get(params, "body"), s)
	return r, err
}

// parseOptions reads redirect and timeoutMs.
func (r *Request) parseOptions(params json.RawMessage) error {
	if raw := jsonraw.Get(params, "redirect"); !jsonraw.IsNull(raw) {
		mode, _ := jsonraw.String(raw)
		if r.Manual = mode == "manual"; !r.Manual && mode != "follow" {
			return runtime.AskErrorf(runtime.KindInvalid, `redirect is "follow" or "manual"`)
		}
	}
	if raw := jsonraw.Get(params, "timeoutMs"); !jsonraw.IsNull(raw) {
		ms, err := strconv.ParseUint(string(raw), 10, 32)
		if err != nil || ms == 0 {
			return runtime.AskErrorf(runtime.KindInvalid, "timeoutMs is a number of milliseconds from 1 to %d", uint32(math.MaxUint32))
		}
		r.Timeout = time.Duration(ms) * time.Millisecond
	}
	return nil
}

// ParseURL reads a URL, relative to base if that is not nil, and makes it canonical. Internationalized names are
// converted to their xn-- form first.
func ParseURL(text string, base *url.URL) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, runtime.AskErrorf(runtime.KindInvalid, "url %q cannot be read", shown(text))
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if host := u.Hostname(); !isASCII(host) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return nil, runtime.AskErrorf(runtime.KindInvalid, "host %q is not a name", shown(host))
		}
		port := ""
		if i := strings.LastIndexByte(u.Host, ':'); i >= 0 {
			port = u.Host[i:]
		}
		u.Host = ascii + port
	}
	c, err := urlnorm.URL(u)
	if err != nil {
		return nil, runtime.AskErrorf(runtime.KindInvalid, "%s", shown(err.Error()))
	}
	return c, nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
