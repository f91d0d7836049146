package sallyporttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

// maxRedirects is the number of redirects that are followed, as in browsers.
const maxRedirects = 20

// fetch answers an http/fetch with a handler, and follows redirects.
func (w *wire) fetch(handler http.Handler, params json.RawMessage) (any, error) {
	var p struct {
		Method  string           `json:"method"`
		URL     string           `json:"url"`
		Headers sallyport.Header `json:"headers"`
		Body    json.RawMessage  `json:"body"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &sallyport.AskError{Kind: sallyport.KindInvalid, Message: err.Error()}
	}
	body, err := w.body(p.Body)
	if err != nil {
		return nil, &sallyport.AskError{Kind: sallyport.KindInvalid, Message: err.Error()}
	}
	for range maxRedirects {
		res, target, err := serve(handler, p.Method, p.URL, p.Headers, body)
		if err != nil {
			return nil, &sallyport.AskError{Kind: sallyport.KindInvalid, Message: err.Error()}
		}
		if target == "" {
			return w.answered(p.URL, res), nil
		}
		p.URL = target
	}
	return nil, &sallyport.AskError{Kind: sallyport.KindLimit, Message: "too many redirects"}
}

func serve(handler http.Handler, method, target string, headers sallyport.Header, body []byte) (*http.Response, string, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, "", fmt.Errorf("%q is not an absolute URL", target)
	}
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	for k, v := range headers {
		r.Header[http.CanonicalHeaderKey(k)] = v
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, r)
	res := rec.Result()
	location := res.Header.Get("Location")
	if res.StatusCode/100 != 3 || location == "" {
		return res, "", nil
	}
	next, err := u.Parse(location)
	if err != nil {
		return nil, "", err
	}
	return nil, next.String(), nil
}

// body returns a text, or the content of the referenced stream.
func (w *wire) body(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text), nil
	}
	var ref map[string]uint32
	if err := json.Unmarshal(raw, &ref); err != nil {
		return nil, err
	}
	return w.take(ref[streamMember])
}

func (w *wire) answered(url string, res *http.Response) any {
	return map[string]any{
		"status": res.StatusCode, "url": url, "headers": sallyport.Header(res.Header),
		"body": map[string]uint32{streamMember: w.add(&stream{source: res.Body})},
	}
}
