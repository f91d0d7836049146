package egress

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// MaxRedirects is how many a fetch follows, half of what browsers do.
const MaxRedirects = 10

// Redirect returns the request that an answer asks for instead, nil if it is the last. RFC 9110,
// section 15.4: 303 turns everything but HEAD into GET, 301 and 302 turn POST into GET as clients
// always did, 307 and 308 change nothing. A request that may change something is not sent a second time: the guest gets
// the answer as it is, and may ask for the next address itself.
func (r *Request) Redirect(res *Response) (*Request, error) {
	location := res.Header.Get("Location")
	switch res.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	method, body := r.afterRedirect(res.Status)
	if location == "" || !Safe(method) {
		return nil, nil
	}
	u, err := ParseURL(location, r.URL)
	if err != nil {
		var ask *runtime.AskError
		errors.As(err, &ask)
		return nil, runtime.AskErrorf(runtime.KindInvalid, "%s redirects to what is no address: %s", shown(r.URL.String()), ask.Message)
	}
	return &Request{
		Method: method, URL: u, Body: body, Origin: cmp.Or(r.Origin, r.URL), From: r.URL.String(),
		Header: r.forOrigin(u.Scheme == r.URL.Scheme && u.Host == r.URL.Host, body != nil),
	}, nil
}

func (r *Request) afterRedirect(status int) (string, *Payload) {
	switch {
	case status == http.StatusSeeOther && r.Method != http.MethodHead && r.Method != http.MethodGet,
		(status == http.StatusMovedPermanently || status == http.StatusFound) && r.Method == http.MethodPost:
		return http.MethodGet, nil
	}
	return r.Method, r.Body
}
