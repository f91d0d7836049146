package notify

import (
	"encoding/json"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/meta"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// maxNotification is the size of one message of a plugin, in bytes: a log line, not a file.
const maxNotification = 64 << 10

// Stream is what one request sends before its result. It is safe for concurrent use once Send and Token are set.
type Stream struct {
	// Send takes a message, one at a time; nil sends nothing.
	Send func(msg []byte)
	// Token is the client's progressToken; nil if it wants no progress.
	Token json.RawMessage

	stopped atomic.Bool

	mu       sync.Mutex
	finished bool
	started  bool
	progress float64 // the last value sent or held back
	held     []byte  // the newest progress that the rate did not let through
	bucket   bucket
}

// Progress passes a progress notification of the plugin on, with the client's token, if the client
// asked for progress and the value has grown. Of those that come too fast the newest is kept.
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
	meta.Strip(&o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started && value <= s.progress {
		return
	}
	s.started, s.progress = true, value
	s.held = jsonrpc.Notification("notifications/progress", o)
	if s.bucket.take(time.Now()) {
		s.flush()
	}
}

// Message passes a log message of the plugin on if it is of this level at least; Unset is no message at all. Those that
// come too fast are dropped.
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
	meta.Strip(&o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bucket.take(time.Now()) {
		s.emit(jsonrpc.Notification("notifications/message", o))
	}
}

// Tell sends messages of the host's own, which no rate bounds.
func (s *Stream) Tell(messages ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		s.emit(m)
	}
}

// Stop has nothing sent any more. It does not wait for what is being sent.
func (s *Stream) Stop() { s.stopped.Store(true) }

// Stopped reports whether Stop was called.
func (s *Stream) Stopped() bool { return s.stopped.Load() }

// Finish lets the last progress out and closes the stream.
func (s *Stream) Finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	s.finished = true
}

// flush sends the progress that is held back. s.mu is held.
func (s *Stream) flush() {
	if held := s.held; held != nil {
		s.held = nil
		s.emit(held)
	}
}

// emit sends msg unless nothing may be sent any more. s.mu is held, so that messages do not
// overlap and none follows the result.
func (s *Stream) emit(msg []byte) {
	if !s.finished && !s.stopped.Load() && s.Send != nil {
		s.Send(msg)
	}
}

// number reads a finite JSON number.
func number(raw json.RawMessage) (float64, bool) {
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}
