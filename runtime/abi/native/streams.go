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
	streamFirst    = 2 // the first stream opened during the call

	// maxStreams bounds the open streams of a call besides the request and the response: more than any program reads
	// concurrently.
	maxStreams = 64
	// maxSpool bounds the total bytes in streams that the guest writes, which are held in memory.
	maxSpool = 8 << 20
	// maxAnswers bounds the bytes of responses that the guest has not closed.
	maxAnswers = 8 << 20
	// maxID keeps a stream ID positive in the upper half of an i64.
	maxID = 1<<31 - 1
)

// callFrom returns the call of a host function's context, or nil outside of a call.
func callFrom(ctx context.Context) *call {
	c, _ := runtime.Attached(ctx).(*call)
	return c
}

// call holds the streams of one request. The guest runs on one goroutine; the gate may open and take streams on
// others.
type call struct {
	program  bool // a program or a server, which has no request and no response here
	request  request
	response bytes.Buffer
	limit    int // of the response

	mu      sync.Mutex
	open    map[uint32]*stream
	next    uint32
	pending int // slots reserved for responses in progress
	spooled int // bytes in streams that the guest writes
	answers int // bytes in responses
}

var _ runtime.Streams = (*call)(nil)

// stream is either read or written by the guest.
type stream struct {
	source io.ReadCloser // nil if the guest writes
	err    error         // the source's last error
	spool  []byte        // bytes written by the guest
	limit  int           // of spool
	answer int           // bytes of a response
}

func newCall(r request, limit int) *call {
	return &call{request: r, limit: limit, next: streamFirst}
}

// hold reserves a slot for a stream before the request is performed; false means too many streams.
func (c *call) hold() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open)+c.pending >= maxStreams || c.next >= maxID {
		return false
	}
	c.pending++
	return true
}

// unhold releases the slot.
func (c *call) unhold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending--
}

// add opens a stream; false means too many streams.
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

// full reports whether a response of n more bytes would exceed maxAnswers.
func (c *call) full(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers+n > maxAnswers
}

// Open gives the guest a stream that reads r. If too many are open, it closes r.
func (c *call) Open(r io.ReadCloser) (uint32, error) {
	id, ok := c.add(&stream{source: r})
	if !ok {
		_ = r.Close() // unread, so the error is irrelevant
		return 0, tooManyStreams()
	}
	return id, nil
}

func tooManyStreams() error {
	return &runtime.AskError{Kind: runtime.KindLimit, Message: fmt.Sprintf("%d streams are open, which is the most", maxStreams)}
}

// Take ends a stream that the guest wrote and returns its contents.
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

// get returns an open stream, or nil for an unknown ID.
func (c *call) get(id uint32) *stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[id]
}

// read fills p from a stream.
func (c *call) read(id uint32, p []byte) (int, Errno) {
	if id == streamRequest && !c.program {
		return c.request.read(p), 0
	}
	s := c.get(id)
	if s == nil || s.source == nil {
		return 0, EBADF
	}
	return s.read(p)
}

// maxEmptyReads bounds the consecutive empty reads of a source before it counts as failed.
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

// write appends p to a stream that the guest opened for writing.
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

// close closes a stream that was opened during the call.
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
		_ = s.source.Close() // read only, so the error is irrelevant
	}
}

// closeAll closes the streams that the guest left open.
func (c *call) closeAll() {
	c.mu.Lock()
	left := c.open
	c.open, c.next = nil, maxID // later calls of add fail
	c.mu.Unlock()
	for _, s := range left {
		s.close()
	}
}
