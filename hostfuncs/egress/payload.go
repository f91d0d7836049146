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
	take func() (io.ReadCloser, int64, error) // nil once read
	data []byte
}

// StreamOf returns the stream that a body names; false if raw names none.
func StreamOf(raw json.RawMessage) (id uint32, ok bool) {
	n, err := strconv.ParseUint(string(jsonraw.Get(raw, StreamMember)), 10, 32)
	return uint32(n), err == nil
}

// StreamPayload returns a body with the rest of a stream that the guest wrote.
func StreamPayload(id uint32, s runtime.Streams) *Payload {
	return &Payload{take: func() (io.ReadCloser, int64, error) { return s.Take(id) }}
}

// parseBody reads text, or the number of a stream.
func parseBody(raw json.RawMessage, s runtime.Streams) (*Payload, error) {
	if jsonraw.IsNull(raw) {
		return nil, nil
	}
	if text, ok := jsonraw.String(raw); ok {
		return &Payload{data: []byte(text)}, nil
	}
	id, ok := StreamOf(raw)
	if !ok {
		return nil, runtime.AskErrorf(runtime.KindInvalid, "a body is text or {%q: n}", StreamMember)
	}
	return StreamPayload(id, s), nil
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
