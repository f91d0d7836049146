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

// quickCall is the longest call for which a message that already waits may have to stand behind
// it: about what two switches to another goroutine cost.
const quickCall = 20 * time.Microsecond

// server is one connection.
type server struct {
	conn   conn
	in     *lines // belongs to the goroutine that has the turn
	out    *writer
	calls  *calls
	watch  *watch
	logger *slog.Logger
	cost   atomic.Int64 // nanoseconds that the last call took

	once  sync.Once
	ended chan struct{}
	err   error // why; set before ended is closed
}

// end makes Serve return err. Only the first call counts.
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

// lead reads and handles messages until the input ends or the turn is gone: another goroutine
// reads then, and this one is done with its call.
func (s *server) lead(turn uint64) {
	c := new(call)
	defer c.release()
	defer s.out.flush()
	for !s.over() {
		line, err := s.in.next()
		switch {
		case errors.Is(err, errTooLong):
			s.refuse(nil, tooLong(s.in.max))
		case err != nil:
			s.end(ended(err))
			return
		case !s.message(c, line, &turn):
			return
		}
	}
}

// ended says what went wrong with the input; its end is passed on.
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
		s.refuse(m.ID, asError(err))
		return true
	}
	if mayBlock(m) {
		return s.perform(c, m, line, turn)
	}
	if m.Method == "notifications/cancelled" {
		s.calls.cancelled(m)
	}
	s.calls.prepare(c)
	s.out.write(s.conn.Handle(c.ctx, m, c.sender).Body, s.in.buffered())
	return true
}

// mayBlock tells the requests that run a guest or wait for something else. The others only look
// at the connection or the catalogue, and some must have had their effect (initialize,
// logging/setLevel) before the next message is looked at.
func mayBlock(m *jsonrpc.Message) bool {
	switch m.Method {
	case "initialize", "ping", "server/discover", "logging/setLevel", "tools/list", "prompts/list":
		return false
	}
	return m.IsRequest()
}

// perform handles what may block: the message m, or the batch in line if m is nil.
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
	more := s.in.buffered() // from begin on, s.in may belong to another
	s.watch.begin(turn)
	s.handle(c, m, line, more)
	kept := s.watch.end(turn)
	if !kept && more {
		s.out.flush()
	}
	return kept
}

// worthHelp reports whether another goroutine should read on at once: something waits, and
// calls are not so short that the switch costs more than it gains.
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

func (s *server) refuse(id []byte, e *jsonrpc.Error) {
	s.out.write(jsonrpc.AppendError(nil, id, e), s.in.buffered())
}

func asError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
}
