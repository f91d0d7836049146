package nethttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// fetcher performs the requests of a transport over http/fetch.
type fetcher struct{ transport *http.Transport }

// RoundTrip performs one request.
func (f fetcher) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	switch {
	case req.URL.Host == "":
		return nil, errors.New("http: no Host in request URL")
	case req.Host != "" && req.Host != req.URL.Host:
		return nil, fmt.Errorf("nethttp: the host of a request is that of its URL %s and cannot be %s", req.URL.Host, req.Host)
	}
	params, err := f.params(req)
	if err != nil {
		return nil, err
	}
	var head answer
	if err := ask(req.Context(), "http/fetch", params, &head); err != nil {
		return nil, err
	}
	return head.response(req), nil
}

// params returns the params of http/fetch. The body of the request is sent before.
func (f fetcher) params(req *http.Request) (map[string]any, error) {
	u := *req.URL
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	params := map[string]any{"method": method, "url": u.String(), "redirect": "manual", "headers": f.fields(req)}
	if end, ok := req.Context().Deadline(); ok {
		params["timeoutMs"] = min(max(time.Until(end).Milliseconds(), 1), 1<<31)
	}
	body, err := send(req)
	if body != nil {
		params["body"] = body
	}
	return params, err
}

// fields returns the header fields that the program decides on: those of the connection are the host's.
func (f fetcher) fields(req *http.Request) map[string][]string {
	fields := map[string][]string{}
	for name, values := range req.Header {
		switch http.CanonicalHeaderKey(name) {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Connection", "Keep-Alive", "Proxy-Connection",
			"Expect", "Traceparent", "Tracestate", "Baggage":
			continue
		}
		fields[name] = values
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		fields["User-Agent"] = []string{"Go-http-client/1.1"}
	}
	if f.transport.DisableCompression && req.Header.Get("Accept-Encoding") == "" {
		fields["Accept-Encoding"] = []string{"identity"}
	}
	return fields
}

// send copies the body of a request to a stream of the host; nil if there is none.
func send(req *http.Request) (*stream, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	var s stream
	if err := ask(req.Context(), "stream/open", map[string]any{}, &s); err != nil {
		return nil, err
	}
	n, err := io.Copy(s, req.Body)
	if err == nil {
		err = context.Cause(req.Context())
	}
	if err == nil && req.ContentLength > 0 && n != req.ContentLength {
		err = fmt.Errorf("http: ContentLength=%d with Body length %d", req.ContentLength, n)
	}
	if err != nil {
		closeStream(s.ID)
		return nil, err
	}
	return &s, nil
}

// answer is the result of http/fetch.
type answer struct {
	Status  int
	Headers map[string]values
	Body    stream
}

func (a *answer) response(req *http.Request) *http.Response {
	res := &http.Response{
		Status: strconv.Itoa(a.Status) + " " + http.StatusText(a.Status), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: -1, Request: req, Body: http.NoBody,
	}
	for name, v := range a.Headers {
		res.Header[http.CanonicalHeaderKey(name)] = v
	}
	if n, err := strconv.ParseInt(res.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		res.ContentLength = n
	}
	if req.Method == http.MethodHead || a.Status == http.StatusNoContent || a.Status == http.StatusNotModified {
		if req.Method != http.MethodHead {
			res.ContentLength = 0
		}
		closeStream(a.Body.ID)
		return res
	}
	b := &body{id: a.Body.ID, ctx: req.Context(), left: res.ContentLength}
	b.unstop = context.AfterFunc(b.ctx, b.release)
	res.Body = b
	return res
}

// values are the values of a field: a text, or a list of texts.
type values []string

// UnmarshalJSON reads both forms.
func (v *values) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		*v = []string{""}
		return json.Unmarshal(raw, &(*v)[0])
	}
	return json.Unmarshal(raw, (*[]string)(v))
}
