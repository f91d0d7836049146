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

	"github.com/sallyport-mcp/sallyport/internal/threads"
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

// checkContentType requires JSON without a content encoding.
func checkContentType(h http.Header) *refusal {
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

// checkAccept requires the client to accept both forms of a response. A missing header accepts all.
func checkAccept(h http.Header) *refusal {
	values := h.Values("Accept")
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

// body is the body of a request, in memory that is shared by all requests.
type body struct {
	data     []byte
	limit    int // maximum size
	memory   *budget
	caller   string // user of the memory
	borrowed int    // bytes taken from memory
}

// read reads the body of r, for a caller, within the deadline of the request and the shared memory.
func (b *body) read(r *http.Request, rc *http.ResponseController, caller string) *refusal {
	if r.ContentLength > int64(b.limit) {
		return tooLarge(b.limit)
	}
	b.caller = caller
	b.data = make([]byte, 0, min(max(r.ContentLength+1, 512), freeBody))
	for {
		n, err := r.Body.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		switch {
		case len(b.data) > b.limit:
			return tooLarge(b.limit)
		case err == io.EOF:
			// From here on the server detects a disconnect of the client, without a deadline.
			rc.SetReadDeadline(time.Time{})
			if b.borrowed > 0 { // its parsing alone takes longer than most calls, and nothing interrupts it
				threads.Busy()
			}
			return nil
		case err != nil:
			return unread(err)
		}
		if len(b.data) == cap(b.data) && !b.grow(r.ContentLength) {
			return refuse(http.StatusServiceUnavailable, "too many large messages at once").with("Retry-After", "1")
		}
	}
}

// grow doubles the buffer if memory allows it, up to the announced or maximum size.
func (b *body) grow(announced int64) bool {
	most := b.limit
	if announced >= int64(len(b.data)) {
		most = int(announced)
	}
	size := min(2*cap(b.data), most+1)
	if size > freeBody {
		if !b.memory.take(b.caller, size-b.borrowed) {
			return false
		}
		b.borrowed = size
	}
	grown := make([]byte, len(b.data), size)
	copy(grown, b.data)
	b.data = grown
	return true
}

// free gives the memory back.
func (b *body) free() { b.memory.giveBack(b.caller, b.borrowed) }

func tooLarge(limit int) *refusal {
	return refuse(http.StatusRequestEntityTooLarge, "the message is over the limit of %d bytes", limit)
}

func unread(err error) *refusal {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse(http.StatusRequestTimeout, "the body took too long").with("Connection", "close")
	}
	return refuse(http.StatusBadRequest, "the body ended early").with("Connection", "close")
}
