package stdio

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// call is one request or batch that a goroutine handles. A goroutine reuses its call for the next request.
type call struct {
	out       *writer
	sender    func([]byte) // the method value send, allocated once
	message   jsonrpc.Message
	ctx       context.Context
	cancel    context.CancelFunc
	cancelled atomic.Bool

	// guarded by calls.mu
	id    []byte
	size  int
	index int
}

// send writes a message that precedes the result, unless the call was cancelled.
func (c *call) send(msg []byte) {
	if !c.cancelled.Load() {
		c.out.write(msg, false)
	}
}

// release frees the call's context.
func (c *call) release() {
	if c.cancel != nil {
		c.cancel()
	}
}

// calls tracks the calls in flight.
type calls struct {
	ctx    context.Context // parent context of every call
	out    *writer
	max    int // limit on calls
	budget int // limit on the bytes of their messages
	// waiting returns the number of calls that wait for further input. It may be nil.
	waiting func() int

	mu      sync.Mutex
	running []*call
	bytes   int
	replies int // responses without a call that are being written
	closed  bool
	empty   chan struct{} // closed when no call and no reply remains after close
}

func newCalls(ctx context.Context, out *writer, o *Options) *calls {
	return &calls{ctx: ctx, out: out, max: o.Concurrency, budget: maxBytes,
		empty: make(chan struct{})}
}

// prepare gives c a context that is not cancelled.
func (s *calls) prepare(c *call) {
	if c.ctx == nil || c.cancelled.Load() {
		c.release()
		c.ctx, c.cancel = context.WithCancel(s.ctx)
		c.cancelled.Store(false)
		c.out, c.sender = s.out, c.send
	}
}

// start registers c as the call of the message id (nil for a batch). It returns false after close.
func (s *calls) start(c *call, id []byte, size int) bool {
	s.prepare(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	c.id, c.size, c.index = id, size, len(s.running)
	s.running = append(s.running, c)
	s.bytes += size
	return true
}

// finish unregisters c.
func (s *calls) finish(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.running) - 1
	s.running[c.index] = s.running[last]
	s.running[c.index].index = c.index
	s.running[last] = nil
	s.running = s.running[:last]
	s.bytes -= c.size
	s.checkEmpty()
}

// beginReply registers a response that took no call. It returns false after close.
func (s *calls) beginReply() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.replies++
	}
	return !s.closed
}

// endReply unregisters a response.
func (s *calls) endReply() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies--
	s.checkEmpty()
}

// room reports whether there is room for one more call. Calls that wait for the client's answer to a question do not
// count: the answer can be read only if there is room.
func (s *calls) room() bool {
	waiting := 0
	if s.waiting != nil {
		waiting = s.waiting()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)-waiting < s.max && (s.bytes < s.budget || waiting > 0)
}

// cancelled handles notifications/cancelled: the call's context is cancelled, and its result will be dropped. The
// connection is informed as well, but not in order, so that it may not know the call yet.
func (s *calls) cancelled(m *jsonrpc.Message) {
	id := jsonraw.Get(m.Params, "requestId")
	if id == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.running {
		if bytes.Equal(c.id, id) {
			c.cancelled.Store(true)
			c.cancel()
		}
	}
}

// close prevents new calls.
func (s *calls) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.checkEmpty()
	}
}

func (s *calls) checkEmpty() {
	if s.closed && len(s.running) == 0 && s.replies == 0 {
		close(s.empty)
	}
}
