package native

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	streamRequest  = 0
	streamResponse = 1
	streamFirst    = 2 // the first that is opened during the call

	// maxStreams is how many streams a call may have open besides the request and the response:
	// more than any program reads side by side.
	maxStreams = 64
	// maxSpool is how many bytes the guest may put into streams of its own, all together. They are
	// held in memory.
	maxSpool = 8 << 20
	// maxAnswers is how many bytes the answers hold that the guest has not closed.
	maxAnswers = 8 << 20
	// maxID keeps the number of a stream positive in the upper half of an i64.
	maxID = 1<<31 - 1
)

// callFrom finds the call in the context of a host function, nil outside of one.
func callFrom(ctx context.Context) *call {
	c, _ := runtime.Attached(ctx).(*call)
	return c
}

// call is what one request has open. The guest runs on one goroutine; the gate may open and take
// streams on others.
type call struct {
	request  *bytes.Reader
	response bytes.Buffer
	limit    int // of the response

	mu      sync.Mutex
	open    map[uint32]*stream
	next    uint32
	pending int // places held for answers that are on their way
	spooled int // bytes in streams that the guest writes
	answers int // bytes in answers
}

var _ runtime.Streams = (*call)(nil)

// stream is either read by the guest or written by it.
type stream struct {
	source io.ReadCloser // nil if the guest writes
	err    error         // the source's end
	spool  []byte        // what the guest wrote
	limit  int           // of what the guest writes
	answer int           // bytes of an answer
}

func newCall(request []byte, limit int) *call {
	return &call{request: bytes.NewReader(request), limit: limit, next: streamFirst}
}

// hold keeps a place for a stream before the work that fills it begins; false means that there are
// too many.
func (c *call) hold() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open)+c.pending >= maxStreams || c.next >= maxID {
		return false
	}
	c.pending++
	return true
}

// unhold gives the place back.
func (c *call) unhold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending--
}

// add opens a stream; false means that there are too many.
func (c *call) add(s *stream) (uint32, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open)+c.pending >= maxStreams || c.next >= maxID {
		return 0, false
	}
	id := c.next
	c.next++
	if c.open == nil {
		c.open = make(map[uint32]*stream)
	}
	c.open[id] = s
	c.answers += s.answer
	return id, true
}

// full tells whether an answer of n more bytes would be too many.
func (c *call) full(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers+n > maxAnswers
}

// Open gives the guest a stream that reads r. If there are too many open, r is closed.
func (c *call) Open(r io.ReadCloser) (uint32, error) {
	id, ok := c.add(&stream{source: r})
	if !ok {
		_ = r.Close() // nobody has read from it
		return 0, tooManyStreams()
	}
	return id, nil
}

func tooManyStreams() error {
	return &runtime.AskError{Kind: runtime.KindLimit, Message: fmt.Sprintf("%d streams are open, which is the most", maxStreams)}
}

// Take ends a stream that the guest wrote and returns what it holds.
func (c *call) Take(id uint32) (io.ReadCloser, int64, error) {
	data, err := c.take(id)
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

func (c *call) take(id uint32) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.open[id]
	if s == nil || s.source != nil {
		return nil, &runtime.AskError{Kind: runtime.KindInvalid,
			Message: fmt.Sprintf("stream %d is not one that this call opened for writing, or it was used already", id)}
	}
	delete(c.open, id)
	c.spooled -= len(s.spool)
	return s.spool, nil
}

// get returns an open stream, nil if there is none of this number.
func (c *call) get(id uint32) *stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[id]
}

// read fills p from a stream.
func (c *call) read(id uint32, p []byte) (int, Errno) {
	if id == streamRequest {
		n, _ := c.request.Read(p) // the only error is the end
		return n, 0
	}
	s := c.get(id)
	if s == nil || s.source == nil {
		return 0, EBADF
	}
	return s.read(p)
}

// maxEmptyReads is how often a source may give nothing without an end before it counts as broken.
const maxEmptyReads = 100

func (s *stream) read(p []byte) (int, Errno) {
	if len(p) == 0 {
		return 0, 0
	}
	for range maxEmptyReads {
		if s.err != nil {
			break
		}
		var n int
		if n, s.err = s.source.Read(p); n > 0 {
			return n, 0
		}
	}
	if s.err == io.EOF {
		return 0, 0
	}
	return 0, EIO
}

// write appends p to a stream of the guest's own.
func (c *call) write(id uint32, p []byte) (int, Errno) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.open[id]
	switch {
	case s == nil || s.source != nil:
		return 0, EBADF
	case len(s.spool)+len(p) > s.limit:
		return 0, EFBIG
	case c.spooled+len(p) > maxSpool:
		return 0, ENOSPC
	}
	s.spool = append(s.spool, p...)
	c.spooled += len(p)
	return len(p), 0
}

// close ends a stream that was opened during the call.
func (c *call) close(id uint32) Errno {
	c.mu.Lock()
	s := c.open[id]
	delete(c.open, id)
	if s != nil {
		c.spooled -= len(s.spool)
		c.answers -= s.answer
	}
	c.mu.Unlock()
	if s == nil {
		return EBADF
	}
	s.close()
	return 0
}

func (s *stream) close() {
	if s.source != nil {
		_ = s.source.Close() // it was only read
	}
}

// closeAll ends what the guest left open.
func (c *call) closeAll() {
	c.mu.Lock()
	left := c.open
	c.open, c.next = nil, maxID // whoever opens one now is refused
	c.mu.Unlock()
	for _, s := range left {
		s.close()
	}
}
