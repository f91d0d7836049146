//go:build wasip1

package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unsafe"
)

//go:linkname badRoundTrip net/http.(*Transport).RoundTrip
func badRoundTrip(*Transport, *Request) (*Response, error)

//go:wasmimport sallyport read
func sallyportRead(stream uint32, p unsafe.Pointer, size uint32) int32

//go:wasmimport sallyport write
func sallyportWrite(stream uint32, p unsafe.Pointer, size uint32) int32

//go:wasmimport sallyport call
func sallyportCall(p unsafe.Pointer, size uint32) int64

//go:wasmimport sallyport close
func sallyportClose(stream uint32) int32

// RoundTrip performs one request over http/fetch of the host. Redirects are left to the Client, so that the host
// decides on each as a request of its own. A host call blocks all goroutines: the deadline of the request's context is
// passed to the host, and a cancellation takes effect between two host calls.
func (t *Transport) RoundTrip(req *Request) (*Response, error) {
	if t == nil {
		panic("transport is nil")
	}
	if req.URL == nil {
		req.closeBody()
		return nil, errors.New("http: nil Request.URL")
	}
	if req.Header == nil {
		req.closeBody()
		return nil, errors.New("http: nil Request.Header")
	}
	req = setupRewindBody(req)
	if alt := t.alternateRoundTripper(req); alt != nil {
		res, err := alt.RoundTrip(req)
		if err != ErrSkipAltProtocol {
			return res, err
		}
		if req, err = rewindBody(req); err != nil {
			return nil, err
		}
	}
	defer req.closeBody()
	if s := req.URL.Scheme; s != "http" && s != "https" {
		return nil, badStringError("unsupported protocol scheme", s)
	}
	if req.URL.Host == "" {
		return nil, errors.New("http: no Host in request URL")
	}
	if req.Host != "" && req.Host != req.URL.Host {
		return nil, fmt.Errorf("net/http: the host of a request is that of its URL %s and cannot be %s: the network is Sallyport's http/fetch", req.URL.Host, req.Host)
	}
	return sallyportFetch(req, t.DisableCompression)
}

// sallyportFetch sends a request and returns the response, whose body is a stream of the host.
func sallyportFetch(req *Request, plain bool) (*Response, error) {
	u := *req.URL
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	params := map[string]any{
		"method": valueOrDefault(req.Method, "GET"), "url": u.String(), "redirect": "manual",
		"headers": sallyportHeader(req, plain),
	}
	body, err := sallyportSpool(req)
	if err != nil {
		return nil, err
	}
	if body != nil {
		params["body"] = body
	}
	ctx := req.Context()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if end, ok := ctx.Deadline(); ok {
		params["timeoutMs"] = min(max(time.Until(end).Milliseconds(), 1), 1<<31)
	}
	var head struct {
		Status  int
		Headers map[string]sallyportValues
		Body    sallyportStream
	}
	if err := sallyportAsk(ctx, "http/fetch", params, &head); err != nil {
		return nil, err
	}
	res := &Response{
		Status: strconv.Itoa(head.Status) + " " + StatusText(head.Status), StatusCode: head.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: Header{}, ContentLength: -1, Request: req,
	}
	for name, values := range head.Headers {
		res.Header[CanonicalHeaderKey(name)] = values
	}
	if n, err := strconv.ParseInt(res.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		res.ContentLength = n
	}
	b := &sallyportBody{id: head.Body.ID, ctx: ctx, left: res.ContentLength}
	if req.Method == "HEAD" || head.Status == StatusNoContent || head.Status == StatusNotModified {
		if req.Method != "HEAD" {
			res.ContentLength = 0
		}
		sallyportClose(b.id)
		res.Body = NoBody
		return res, nil
	}
	b.unstop = context.AfterFunc(ctx, b.release)
	res.Body = b
	return res, nil
}

// sallyportHeader returns the fields that the program decides on. As natively, those of the connection and of the
// message's frame are the transport's.
func sallyportHeader(req *Request, plain bool) map[string][]string {
	fields := map[string][]string{}
	for name, values := range req.Header {
		switch CanonicalHeaderKey(name) {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Connection", "Keep-Alive", "Proxy-Connection",
			"Expect", "Traceparent", "Tracestate", "Baggage":
			continue
		}
		fields[name] = values
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		fields["User-Agent"] = []string{defaultUserAgent}
	}
	if plain && req.Header.Get("Accept-Encoding") == "" {
		fields["Accept-Encoding"] = []string{"identity"}
	}
	return fields
}

// sallyportSpool copies the body of a request to a stream of the host, nil if there is none.
func sallyportSpool(req *Request) (*sallyportStream, error) {
	if req.Body == nil || req.Body == NoBody {
		return nil, nil
	}
	ctx := req.Context()
	var stream sallyportStream
	if err := sallyportAsk(ctx, "stream/open", map[string]any{}, &stream); err != nil {
		return nil, err
	}
	sent := int64(0)
	for p := make([]byte, 32<<10); ; {
		n, err := req.Body.Read(p)
		if sent += int64(n); n > 0 {
			if errno := sallyportWrite(stream.ID, unsafe.Pointer(unsafe.SliceData(p)), uint32(n)); errno < 0 {
				err = sallyportErrno("the body of the request cannot be sent", errno)
			}
			runtime.KeepAlive(p)
		}
		switch {
		case err == nil:
			err = context.Cause(ctx)
		case err == io.EOF && req.outgoingLength() >= 0 && sent != req.outgoingLength():
			err = fmt.Errorf("http: ContentLength=%d with Body length %d", req.outgoingLength(), sent)
		case err == io.EOF:
			return &stream, nil
		}
		if err != nil {
			sallyportClose(stream.ID)
			return nil, err
		}
	}
}

// sallyportAsk sends one request to the host.
func sallyportAsk(ctx context.Context, method string, params map[string]any, result any) error {
	request, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		return err
	}
	n := sallyportCall(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	runtime.KeepAlive(request)
	if n < 0 {
		return sallyportErrno("the host cannot be asked", int32(n))
	}
	text, err := io.ReadAll(&sallyportBody{id: uint32(n >> 32), ctx: context.Background(), left: -1})
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  *sallyportError
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("net/http: the answer of the host cannot be read: %w", err)
	}
	if answer.Error != nil {
		if err := sallyportOver(ctx); err != nil && answer.Error.Timeout() {
			return err
		}
		return answer.Error
	}
	return json.Unmarshal(answer.Result, result)
}

// sallyportOver returns the error of a context that has ended, or whose deadline has passed while no timer could fire.
func sallyportOver(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	// The host rounds the time that is left down to milliseconds.
	if end, ok := ctx.Deadline(); ok && time.Until(end) < 2*time.Millisecond {
		return context.DeadlineExceeded
	}
	return nil
}

// sallyportError is the host's refusal of a request, or its failure. Kind is denied, timeout, unavailable and others.
type sallyportError struct {
	Message string
	Data    struct{ Kind, Hint string }
}

func (e *sallyportError) Error() string {
	if e.Data.Hint == "" {
		return e.Message
	}
	return e.Message + " (the operator of Sallyport can grant it: " + e.Data.Hint + ")"
}

// Timeout reports whether the time of the request or of the call was over, as net.Error has it.
func (e *sallyportError) Timeout() bool { return e.Data.Kind == "timeout" }

// Temporary reports the same.
func (e *sallyportError) Temporary() bool { return e.Timeout() }

// sallyportErrno returns the error for a negative result of a host function. The numbers are those of WASI.
func sallyportErrno(what string, errno int32) error {
	why := "error number " + strconv.Itoa(int(-errno))
	switch -errno {
	case 11:
		why = "the call is over"
	case 22, 51:
		why = "bodies of requests are at most 8 MiB"
	case 33:
		why = "too many responses are open: close their bodies"
	case 52:
		why = "no call is being served"
	}
	return errors.New("net/http: " + what + ": " + why)
}

// sallyportStream is a stream of the host, as JSON names it.
type sallyportStream struct {
	ID uint32 `json:"dev.sallyport/stream"`
}

// sallyportValues are the values of a field: a text, or a list of texts.
type sallyportValues []string

func (v *sallyportValues) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		*v = []string{""}
		return json.Unmarshal(raw, &(*v)[0])
	}
	return json.Unmarshal(raw, (*[]string)(v))
}

// sallyportBody reads a stream of the host. It is closed with its context, at its end, and by Close.
type sallyportBody struct {
	id     uint32
	ctx    context.Context
	left   int64 // bytes to come, negative if unknown
	unstop func() bool

	mu     sync.Mutex
	closed bool
	ended  bool
}

func (b *sallyportBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended:
		return 0, io.EOF
	case context.Cause(b.ctx) != nil:
		return 0, context.Cause(b.ctx)
	case b.closed:
		return 0, errReadOnClosedResBody
	}
	n := sallyportRead(b.id, unsafe.Pointer(unsafe.SliceData(p)), uint32(min(len(p), 1<<30)))
	runtime.KeepAlive(p)
	switch {
	case n > 0:
		if b.left > 0 {
			b.left -= int64(n)
		}
		return int(n), nil
	case n == 0 && b.left <= 0:
		b.ended = true
		b.closeLocked()
		return 0, io.EOF
	}
	b.closeLocked()
	if err := sallyportOver(b.ctx); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("the response broke off: %w", io.ErrUnexpectedEOF)
}

// Close closes the stream. The host ends the request if the body was not read to its end.
func (b *sallyportBody) Close() error {
	b.release()
	return nil
}

func (b *sallyportBody) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closeLocked()
}

func (b *sallyportBody) closeLocked() {
	if b.closed {
		return
	}
	b.closed = true
	if b.unstop != nil {
		b.unstop()
	}
	sallyportClose(b.id)
}
