package streamable

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// bodyTimeout is the time to read a body: 16 MiB at half a megabyte per second. It also applies to refused
	// requests: the HTTP server reads their bodies to reuse the connection.
	bodyTimeout = 30 * time.Second
	// strangerTimeout is the time to read the rest of the body of an unauthenticated, refused request.
	strangerTimeout = 2 * time.Second
	// freeBody is the size up to which a body does not count toward the shared memory.
	freeBody = 64 << 10
)

// contentType requires JSON without a content encoding.
func (x *exchange) contentType() *refusal {
	h := x.r.Header
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "application/json" || len(h.Values("Content-Type")) > 1 {
		return refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refuse(http.StatusUnsupportedMediaType, "the charset must be utf-8")
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return refuse(http.StatusUnsupportedMediaType, "a body with a Content-Encoding is not read")
	}
	return nil
}

// accept requires the client to accept both forms of a response. A missing header accepts all.
func (x *exchange) accept() *refusal {
	values := x.r.Header.Values("Accept")
	if len(values) == 0 {
		return nil
	}
	list := strings.Join(values, ",")
	if accepts(list, "application/json") && accepts(list, "text/event-stream") {
		return nil
	}
	return refuse(http.StatusNotAcceptable, "Accept must allow application/json and text/event-stream")
}

// accepts reports whether a list of media ranges allows kind. The most specific range decides.
func accepts(list, kind string) bool {
	major, _, _ := strings.Cut(kind, "/")
	best, allowed := 0, false
	for item := range strings.SplitSeq(list, ",") {
		name, params, _ := strings.Cut(item, ";")
		rank := 0
		switch strings.ToLower(strings.TrimSpace(name)) {
		case kind:
			rank = 3
		case major + "/*":
			rank = 2
		case "*/*":
			rank = 1
		}
		if rank > best {
			best, allowed = rank, !zeroQuality(params)
		}
	}
	return allowed
}

func zeroQuality(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(key, "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && q == 0
		}
	}
	return false
}

// read reads the body, within the deadline of the request and the shared memory.
func (x *exchange) read() *refusal {
	limit := x.h.options.MaxMessage
	if x.r.ContentLength > int64(limit) {
		return tooLarge(limit)
	}
	size := min(max(x.r.ContentLength+1, 512), freeBody)
	x.body = make([]byte, 0, size)
	for {
		n, err := x.r.Body.Read(x.body[len(x.body):cap(x.body)])
		x.body = x.body[:len(x.body)+n]
		switch {
		case len(x.body) > limit:
			return tooLarge(limit)
		case err == io.EOF:
			// From here on the server detects a disconnect of the client, without a deadline.
			x.rc.SetReadDeadline(time.Time{})
			return nil
		case err != nil:
			return unread(err)
		}
		if len(x.body) == cap(x.body) && !x.growBody() {
			return refuse(http.StatusServiceUnavailable, "too many large messages at once").with("Retry-After", "1")
		}
	}
}

// growBody doubles the buffer of the body if memory allows it, up to the announced or maximum size.
func (x *exchange) growBody() bool {
	most := x.h.options.MaxMessage
	if announced := x.r.ContentLength; announced >= int64(len(x.body)) {
		most = int(announced)
	}
	size := min(2*cap(x.body), most+1)
	if size > freeBody {
		if !x.h.bodies.take(x.principal, size-x.borrowed) {
			return false
		}
		x.borrowed = size
	}
	grown := make([]byte, len(x.body), size)
	copy(grown, x.body)
	x.body = grown
	return true
}

func tooLarge(limit int) *refusal {
	return refuse(http.StatusRequestEntityTooLarge, "the message is over the limit of %d bytes", limit)
}

func unread(err error) *refusal {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse(http.StatusRequestTimeout, "the body took too long").with("Connection", "close")
	}
	return refuse(http.StatusBadRequest, "the body ended early").with("Connection", "close")
}
