package egress

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// MaxBody is the maximum size of a request body, in bytes. It is kept in memory, since a confirmation, the journal and
// a redirected GET need it again.
const MaxBody = 8 << 20

// StreamMember is the member that names the stream of a body.
const StreamMember = "dev.sallyport/stream"

// Payload is a request body. It is read when the first hop is allowed, and kept for later hops.
type Payload struct {
	take   func() (io.ReadCloser, int64, error) // nil once read
	data   []byte
	stream bool
}

// Streamed reports whether the body is a stream that the guest wrote, not text. A nil body is none.
func (p *Payload) Streamed() bool { return p != nil && p.stream }

// streamOf returns the stream that a body names; false if raw names none.
func streamOf(raw json.RawMessage) (id uint32, ok bool) {
	n, err := strconv.ParseUint(string(jsonraw.Get(raw, StreamMember)), 10, 32)
	return uint32(n), err == nil
}

// parseBody reads text, or the number of a stream.
func parseBody(raw json.RawMessage, s runtime.Streams) (*Payload, error) {
	if jsonraw.IsNull(raw) {
		return nil, nil
	}
	if text, ok := jsonraw.String(raw); ok {
		return &Payload{data: []byte(text)}, nil
	}
	id, ok := streamOf(raw)
	if !ok {
		return nil, runtime.AskErrorf(runtime.KindInvalid, "a body is text or {%q: n}", StreamMember)
	}
	return &Payload{stream: true, take: func() (io.ReadCloser, int64, error) { return s.Take(id) }}, nil
}

// Bytes returns the body. A body longer than limit bytes is an error.
func (p *Payload) Bytes(limit int64) ([]byte, error) {
	if p == nil {
		return nil, nil
	}
	tooLong := runtime.AskErrorf(runtime.KindLimit, "the body of the request is longer than %d bytes", limit)
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
			return nil, runtime.AskErrorf(runtime.KindInvalid, "the body of the request cannot be read")
		}
	}
	if int64(len(p.data)) > limit {
		return nil, tooLong
	}
	return p.data, nil
}
