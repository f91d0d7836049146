package hostfuncs

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// redirect returns the request that an answer asks for instead, nil if it is the last. RFC 9110,
// section 15.4: 303 turns everything but HEAD into GET, 301 and 302 turn POST into GET as clients
// always did, 307 and 308 change nothing.
func (r *request) redirect(res *response) (*request, error) {
	location := res.header.Get("Location")
	switch res.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	if location == "" {
		return nil, nil
	}
	u, err := parseURL(location, r.url)
	if err != nil {
		var ask *runtime.AskError
		errors.As(err, &ask)
		return nil, askErrorf(runtime.KindInvalid, "%s redirects to what is no address: %s", cut(r.url.String(), maxAct), ask.Message)
	}
	method, body := r.afterRedirect(res.status)
	return &request{
		method: method, url: u, body: body, origin: cmp.Or(r.origin, r.url), from: r.url.String(),
		header: r.forOrigin(u.Scheme == r.url.Scheme && u.Host == r.url.Host, body != nil),
	}, nil
}

func (r *request) afterRedirect(status int) (string, *payload) {
	switch {
	case status == http.StatusSeeOther && r.method != http.MethodHead && r.method != http.MethodGet,
		(status == http.StatusMovedPermanently || status == http.StatusFound) && r.method == http.MethodPost:
		return http.MethodGet, nil
	}
	return r.method, r.body
}
