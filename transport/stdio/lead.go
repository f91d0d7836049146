package stdio

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// quickCall is the longest call for which a waiting message may be delayed: about the cost of two goroutine switches.
const quickCall = 20 * time.Microsecond

// server is one connection.
type server struct {
	conn   conn
	in     *lines // owned by the goroutine with the turn
	out    *writer
	calls  *calls
	watch  *watch
	logger *slog.Logger
	cost   atomic.Int64 // duration of the last call in nanoseconds

	once  sync.Once
	ended chan struct{}
	err   error // reason; set before ended is closed
}

// end makes Serve return err. Only the first call has an effect.
func (s *server) end(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.ended)
	})
}

func (s *server) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// lead reads and handles messages until the input ends or the turn is lost: then another goroutine reads, and this
// one has finished its call.
func (s *server) lead(turn uint64) {
	c := new(call)
	defer c.release()
	defer s.out.flush()
	settle := func() bool { return s.settle(&turn) }
	for !s.over() {
		line, err := s.in.next(settle)
		switch {
		case errors.Is(err, errTaken):
			return
		case errors.Is(err, errTooLong):
			if !s.refuse(nil, tooLong(s.in.max), &turn) {
				return
			}
		case err != nil:
			s.end(ended(err))
			return
		case !s.message(c, line, &turn):
			return
		}
	}
}

// settle writes delayed responses before a read that may wait, and reports whether this goroutine still has the turn. A
// client may read nothing until it has sent all: while the write waits, another goroutine takes the turn, as it does
// during a call.
func (s *server) settle(turn *uint64) bool {
	if !s.out.tryLock() {
		return true // the goroutine that writes flushes, now or at its next step
	}
	defer s.out.unlock()
	if s.out.buf.Buffered() == 0 {
		return true
	}
	s.watch.begin(turn)
	s.out.check(s.out.buf.Flush())
	return s.watch.end(turn)
}

// ended wraps an input error, including io.EOF.
func ended(err error) error { return fmt.Errorf("read: %w", err) }

func tooLong(limit int) *jsonrpc.Error {
	text := fmt.Sprintf("invalid request: message is over the limit of %d bytes", limit)
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
}

// message handles one line, and reports whether this goroutine still has the turn.
func (s *server) message(c *call, line []byte, turn *uint64) bool {
	if jsonrpc.IsBatch(line) {
		return s.perform(c, nil, line, turn)
	}
	m := &c.message
	var err error
	if *m, err = jsonrpc.Parse(line); err != nil {
		return s.refuse(m.ID, asError(err), turn)
	}
	if mayBlock(m) {
		return s.perform(c, m, line, turn)
	}
	if m.Method == "notifications/cancelled" {
		s.calls.cancelled(m)
	}
	s.calls.prepare(c)
	return s.reply(s.conn.Handle(c.ctx, m, c.sender).Body, turn)
}

// mayBlock reports whether a request runs a guest or waits for something. Other requests only read the connection or
// the catalog, and some (initialize, logging/setLevel) must take effect before the next message.
func mayBlock(m *jsonrpc.Message) bool {
	switch m.Method {
	case "initialize", "ping", "server/discover", "logging/setLevel", "tools/list", "prompts/list":
		return false
	}
	return m.IsRequest()
}

// perform handles a request that may block: the message m, or the batch in line if m is nil.
func (s *server) perform(c *call, m *jsonrpc.Message, line []byte, turn *uint64) bool {
	var id []byte
	if m != nil {
		id = m.ID
	}
	if !s.calls.start(c, id, len(line)) {
		return false
	}
	if s.worthHelp() && s.calls.room() {
		go s.lead(*turn)
		s.handle(c, m, line, false)
		return false
	}
	more := s.in.buffered() // after begin, another goroutine may own s.in
	s.watch.begin(turn)
	s.handle(c, m, line, more)
	kept := s.watch.end(turn)
	if !kept && more {
		s.out.flush()
	}
	return kept
}

// worthHelp reports whether another goroutine should read at once: input is waiting, and calls are long enough to
// justify the switch.
func (s *server) worthHelp() bool {
	return s.in.buffered() && s.cost.Load() > int64(quickCall)
}

func (s *server) handle(c *call, m *jsonrpc.Message, line []byte, more bool) {
	began := time.Now()
	body := s.answer(c, m, line)
	s.cost.Store(int64(time.Since(began)))
	if !c.cancelled.Load() {
		s.out.write(body, more)
	}
	s.calls.finish(c)
}

func (s *server) answer(c *call, m *jsonrpc.Message, line []byte) []byte {
	if m == nil {
		return s.conn.HandleBatch(c.ctx, line, c.sender).Body
	}
	return s.conn.Handle(c.ctx, m, c.sender).Body
}

func (s *server) refuse(id []byte, e *jsonrpc.Error, turn *uint64) bool {
	return s.reply(jsonrpc.AppendError(nil, id, e), turn)
}

// reply writes a response that took no call, and reports whether this goroutine still has the turn, as settle does.
func (s *server) reply(body []byte, turn *uint64) bool {
	more := s.in.buffered()
	if s.calls.beginReply() { // the input may end before this goroutine writes
		defer s.calls.endReply()
	}
	s.watch.begin(turn)
	s.out.write(body, more)
	return s.watch.end(turn)
}

func asError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
}
