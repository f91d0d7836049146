package notify

import (
	"encoding/json"
	"math"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
)

// maxNotification is the maximum size of one plugin message, in bytes.
const maxNotification = 64 << 10

// Rate limits for the messages of one request before its result.
const (
	notifyBurst     = 64
	notifyPerSecond = 50
)

// Stream sends the messages of one request before its result. It is safe for concurrent use once Send and Token are
// set.
type Stream struct {
	// Send sends a message; calls are serialized. Nil discards all messages.
	Send func(msg []byte)
	// Token is the client's progressToken; nil if it did not request progress.
	Token json.RawMessage

	stopped atomic.Bool

	mu       sync.Mutex
	finished bool
	started  bool
	progress float64       // last value sent or held back
	held     []byte        // newest progress over the rate limit
	limit    *rate.Limiter // of messages; nil before the first
}

// Progress forwards a progress notification with the client's token, if the client requested progress and the value
// has grown. Over the rate limit only the newest is kept.
func (s *Stream) Progress(params json.RawMessage) {
	if s.Token == nil || len(params) > maxNotification {
		return
	}
	o, err := jsonraw.ParseObject(params)
	if err != nil {
		return
	}
	value, ok := number(o.Get("progress"))
	if !ok {
		return
	}
	o.Set("progressToken", s.Token)
	sanitize.Members(&o, "message")
	untrusted.StripMeta(&o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started && value <= s.progress {
		return
	}
	s.started, s.progress = true, value
	s.held = jsonrpc.Notification("notifications/progress", o)
	if s.permit() {
		s.flush()
	}
}

// Message forwards a log message of level least or higher. Unset forwards none. Messages over the rate limit are
// dropped.
func (s *Stream) Message(params json.RawMessage, least Level) {
	if len(params) > maxNotification {
		return
	}
	o, err := jsonraw.ParseObject(params)
	if err != nil || o.Get("data") == nil {
		return
	}
	if l := parseLevel(o.Get("level")); l == Unset || least == Unset || l < least {
		return
	}
	if logger := o.Get("logger"); logger != nil && !jsonraw.IsString(logger) {
		o.Delete("logger")
	}
	sanitize.Members(&o, "logger", "data")
	untrusted.StripMeta(&o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.permit() {
		s.emit(jsonrpc.Notification("notifications/message", o))
	}
}

// Tell sends messages of the host, without rate limit.
func (s *Stream) Tell(messages ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		s.emit(m)
	}
}

// Stop suppresses all further messages. It does not wait for a send in progress.
func (s *Stream) Stop() { s.stopped.Store(true) }

// Stopped reports whether Stop was called.
func (s *Stream) Stopped() bool { return s.stopped.Load() }

// Finish sends the held progress and closes the stream.
func (s *Stream) Finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	s.finished = true
}

// permit counts one message toward the rate limit, and reports whether it may be sent. s.mu must be held.
func (s *Stream) permit() bool {
	if s.limit == nil {
		s.limit = rate.NewLimiter(notifyPerSecond, notifyBurst)
	}
	return s.limit.Allow()
}

// flush sends the held progress. s.mu must be held.
func (s *Stream) flush() {
	if held := s.held; held != nil {
		s.held = nil
		s.emit(held)
	}
}

// emit sends msg unless the stream is stopped or closed. s.mu must be held, so that messages do not overlap and
// none follows the result.
func (s *Stream) emit(msg []byte) {
	if !s.finished && !s.stopped.Load() && s.Send != nil {
		s.Send(msg)
	}
}

// number parses a finite JSON number.
func number(raw json.RawMessage) (float64, bool) {
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}
