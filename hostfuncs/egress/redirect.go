package egress

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxRedirects is the maximum number of redirects of a fetch, half of the number in browsers.
const maxRedirects = 10

// Follow performs the redirects that begin with the response to r. send decides on each hop by the grants, sends it and
// returns its response; an error of it ends the redirects. Follow closes the bodies of all responses but the last.
func Follow(r *Request, res *Response, send func(hop *Request) (*Response, error)) error {
	for hops := 0; ; hops++ {
		next, err := r.redirect(res)
		if err != nil || next != nil {
			res.Body.Close()
		}
		switch {
		case err != nil || next == nil:
			return err
		case hops == maxRedirects:
			return runtime.AskErrorf(runtime.KindLimit, "more than %d redirects, the last to %s", maxRedirects, shown(next.URL.String()))
		}
		if res, err = send(next); err != nil {
			return err
		}
		r = next
	}
}

// redirect returns the request for the next hop, or nil if the response is the last. RFC 9110, section 15.4: 303
// changes every method but HEAD to GET, 301 and 302 change POST to GET by convention, 307 and 308 keep the method. A
// request that is not safe is not sent a second time: the guest gets the redirect as the response, and may request its
// target itself.
func (r *Request) redirect(res *Response) (*Request, error) {
	location := res.Header.Get("Location")
	switch res.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	method, body := r.afterRedirect(res.Status)
	if location == "" || !grant.IsSafe(method) {
		return nil, nil
	}
	u, err := ParseURL(location, r.URL)
	if err != nil {
		var ask *runtime.AskError
		errors.As(err, &ask)
		return nil, runtime.AskErrorf(runtime.KindInvalid, "%s redirects to an invalid address: %s", shown(r.URL.String()), ask.Message)
	}
	return &Request{
		Method: method, URL: u, Body: body, Origin: cmp.Or(r.Origin, r.URL), From: r.URL.String(),
		Timeout: r.Timeout, Header: r.forOrigin(u.Scheme == r.URL.Scheme && u.Host == r.URL.Host, body != nil),
	}, nil
}

func (r *Request) afterRedirect(status int) (string, *Payload) {
	switch {
	case status == http.StatusSeeOther && !grant.IsSafe(r.Method),
		(status == http.StatusMovedPermanently || status == http.StatusFound) && r.Method == http.MethodPost:
		return http.MethodGet, nil
	}
	return r.Method, r.Body
}
