package stdio

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// call is one request (or batch) that a goroutine works on. A goroutine uses its call again for
// the next request.
type call struct {
	out       *writer
	sender    func([]byte) // send, made once
	message   jsonrpc.Message
	ctx       context.Context
	cancel    context.CancelFunc
	cancelled atomic.Bool

	// guarded by calls.mu
	id    []byte
	size  int
	index int
}

// send writes a message that comes before the result; nothing comes after a cancellation.
func (c *call) send(msg []byte) {
	if !c.cancelled.Load() {
		c.out.write(msg, false)
	}
}

// release frees what the call's context holds.
func (c *call) release() {
	if c.cancel != nil {
		c.cancel()
	}
}

// calls are the calls in flight.
type calls struct {
	ctx    context.Context // parent of every call's
	out    *writer
	max    int // calls
	budget int // bytes of messages
	// waiting is how many calls wait for something that is still to be read; nil is none.
	waiting func() int

	mu      sync.Mutex
	running []*call
	bytes   int
	closed  bool
	empty   chan struct{} // closed when no call is left after close
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

// start makes c the call of the message id (nil for a batch). It is false once closed.
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

// finish takes c out again.
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

// room reports whether one more call could run beside those that do. Calls that wait for the client's
// answer to a question do not count: it will be read only if there is room.
func (s *calls) room() bool {
	waiting := 0
	if s.waiting != nil {
		waiting = s.waiting()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)-waiting < s.max && (s.bytes < s.budget || waiting > 0)
}

// cancelled acts on notifications/cancelled: the call is told, and its answer will be dropped.
// The connection is told as well, but it may not know the call yet: it is not asked in order.
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

// close lets no new call start.
func (s *calls) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.checkEmpty()
	}
}

func (s *calls) checkEmpty() {
	if s.closed && len(s.running) == 0 {
		close(s.empty)
	}
}
