package egress

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// MaxBody is how many bytes the body of a request has at most. It is kept in memory, since a
// question, the journal and a redirected GET look at it again.
const MaxBody = 8 << 20

// StreamMember is the name under which a body is a stream.
const StreamMember = "dev.sallyport/stream"

// Payload is a request body. It is read when the first hop is allowed, and kept for the later ones.
type Payload struct {
	take func() (io.ReadCloser, int64, error) // nil once read
	data []byte
}

// StreamOf is the stream that raw names as a body; false if it names none.
func StreamOf(raw json.RawMessage) (id uint32, ok bool) {
	n, err := strconv.ParseUint(string(jsonraw.Get(raw, StreamMember)), 10, 32)
	return uint32(n), err == nil
}

// StreamPayload is a body that is the rest of a stream which the guest wrote.
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

// Bytes returns the body, at most limit bytes of it.
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
