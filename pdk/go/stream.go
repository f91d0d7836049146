package sallyport

import (
	"errors"
	"io"
	"strconv"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// streamKey is the key of a stream reference in JSON: {"dev.sallyport/stream": 7}.
const streamKey = "dev.sallyport/stream"

// Stream reads bytes from the host, such as an HTTP body, without holding all of them in memory.
type Stream struct {
	host Host
	id   uint32
	open bool
	rest []byte // buffered bytes, returned before reading from the host
}

var _ io.ReadCloser = (*Stream)(nil)

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(s.rest) > 0 {
		n := copy(p, s.rest)
		s.rest = s.rest[n:]
		return n, nil
	}
	if !s.open {
		return 0, io.EOF
	}
	n := s.host.Read(s.id, p)
	switch {
	case n < 0:
		return 0, Errno(-n)
	case n == 0:
		return 0, io.EOF
	}
	return int(n), nil
}

// Close releases the stream. The host closes all streams at the end of the call.
func (s *Stream) Close() error {
	s.rest = nil
	if !s.open {
		return nil
	}
	s.open = false
	return errnoOf(s.host.Close(s.id))
}

// ErrTooLong is returned by [Stream.ReadAll] for a stream over the limit.
var ErrTooLong = errors.New("longer than the limit")

// ReadAll reads to the end and closes the stream. For a stream over limit bytes it returns the first limit bytes and
// [ErrTooLong].
func (s *Stream) ReadAll(limit int64) ([]byte, error) {
	defer s.Close()
	data, err := io.ReadAll(io.LimitReader(s, limit+1))
	if err == nil && int64(len(data)) > limit {
		return data[:limit], ErrTooLong
	}
	return data, err
}

// Body is a stream that the plugin writes and the host stores, for a large request body or a large result. It is used
// once: as [HTTPRequest].Sent, or in a [Content] or [Contents]. It is valid only in the call that made it.
type Body struct {
	host Host
	id   uint32
}

var _ io.Writer = (*Body)(nil)

// NewBody opens a body of up to limit bytes. 0 selects the limit of the host.
func (c *Call) NewBody(limit int64) (*Body, error) {
	params := map[string]int64{}
	if limit > 0 {
		params["limit"] = limit
	}
	var answer streamRef
	if err := c.Ask("stream/open", params, &answer); err != nil {
		return nil, err
	}
	return &Body{host: c.host, id: answer.ID}, nil
}

// Write appends p to the body.
func (b *Body) Write(p []byte) (int, error) {
	if err := writeAll(b.host, b.id, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (b *Body) reference() []byte {
	return []byte(`{"` + streamKey + `":` + itoa(int64(b.id)) + `}`)
}

// streamRef is a stream reference in a response, or a text instead.
type streamRef struct {
	ID   uint32
	Text string
	Set  bool // it is a stream reference
}

// UnmarshalJSON accepts {"dev.sallyport/stream": n} or a string.
func (s *streamRef) UnmarshalJSON(raw []byte) error {
	if text, ok := jsontext.Unquote(raw); ok {
		s.Text = text
		return nil
	}
	return members(raw, func(key string, value []byte) error {
		if key != streamKey || string(value) == "null" {
			return nil
		}
		n, err := strconv.ParseUint(string(value), 10, 32)
		s.ID, s.Set = uint32(n), err == nil
		return err
	})
}

func errnoOf(n int32) error {
	if n < 0 {
		return Errno(-n)
	}
	return nil
}
