package protocol

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/clean"
	"github.com/sallyport-mcp/sallyport/protocol/failure"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Bounds on what one request may send before its result.
const (
	// notifyBurst and notifyPerSecond are more than a person can follow and less than what would
	// slow a client down.
	notifyBurst     = 64
	notifyPerSecond = 50
	// maxNotification is the size of one, in bytes: a log line, not a file.
	maxNotification = 64 << 10
)

// stream is the state of what a request sends before its result. The request's lock guards it.
type stream struct {
	started  bool
	progress float64 // the last value sent or held back
	held     []byte  // the newest progress that the rate did not let through
	bucket   bucket
}

var _ catalogue.Client = (*request)(nil)

// Progress passes a progress notification of the plugin on, with the client's token, if the client
// asked for progress and the value has grown. Of those that come too fast the newest is kept.
func (r *request) Progress(_ context.Context, params json.RawMessage) {
	if r.token == nil || len(params) > maxNotification {
		return
	}
	o, err := rawjson.ParseObject(params)
	if err != nil {
		return
	}
	value, ok := number(o.Get("progress"))
	if !ok {
		return
	}
	o.Set("progressToken", r.token)
	clean.Members(&o, "message")
	meta.Strip(&o)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream.started && value <= r.stream.progress {
		return
	}
	r.stream.started, r.stream.progress = true, value
	r.stream.held = jsonrpc.Notification("notifications/progress", o)
	if r.stream.bucket.take(time.Now()) {
		r.flush()
	}
}

// Message passes a log message of the plugin on if the client wants its level. Those that come too
// fast are dropped.
func (r *request) Message(_ context.Context, params json.RawMessage) {
	if len(params) > maxNotification {
		return
	}
	o, err := rawjson.ParseObject(params)
	if err != nil || o.Get("data") == nil {
		return
	}
	threshold := r.threshold()
	if l := parseLevel(o.Get("level")); l == levelUnset || threshold == levelUnset || l < threshold {
		return
	}
	if logger := o.Get("logger"); logger != nil && !rawjson.IsString(logger) {
		o.Delete("logger")
	}
	clean.Members(&o, "logger", "data")
	meta.Strip(&o)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream.bucket.take(time.Now()) {
		r.emit(jsonrpc.Notification("notifications/message", o))
	}
}

// Release has the transport give the client's connection back, if it has a way to bring the answer later.
// The gate looks for this method by its name.
func (r *request) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emit(nil)
}

// Denied notes that the gate refused an effect, for the text of a call that fails. The gate looks
// for this method by its name.
func (r *request) Denied(e *runtime.AskError) { r.hint(func(h *failure.Hints) { h.Denied(e) }) }

// RetryAfter notes when something that failed may be tried again, for a call that fails. The gate looks
// for this method by its name.
func (r *request) RetryAfter(ms int64) { r.hint(func(h *failure.Hints) { h.RetryAfter(ms) }) }

// hint adds to what the gate told during the call.
func (r *request) hint(f func(*failure.Hints)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.hints)
}

// hinted is what the gate told during the call.
func (r *request) hinted() failure.Hints {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hints
}

// threshold is the least level that the client wants to see; levelUnset is none at all.
func (r *request) threshold() level {
	if r.modern {
		return r.level
	}
	if l := level(r.conn.level.Load()); l != levelUnset {
		return l
	}
	return defaultLevel
}

// flush sends the progress that is held back. The lock is held.
func (r *request) flush() {
	if held := r.stream.held; held != nil {
		r.stream.held = nil
		r.emit(held)
	}
}

// emit sends msg unless nothing may be sent any more. The lock is held, so that messages do not
// overlap and none follows the result.
func (r *request) emit(msg []byte) {
	if !r.finished && !r.abandoned.Load() && r.send != nil {
		r.send(msg)
	}
}

// finish lets the last progress out and closes the stream.
func (r *request) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	r.finished = true
}

// number reads a finite JSON number.
func number(raw json.RawMessage) (float64, bool) {
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// bucket lets notifyBurst events through at once and notifyPerSecond in the long run.
type bucket struct {
	used float64
	last time.Time
}

func (b *bucket) take(now time.Time) bool {
	b.used = max(0, b.used-now.Sub(b.last).Seconds()*notifyPerSecond)
	b.last = now
	if b.used > notifyBurst-1 {
		return false
	}
	b.used++
	return true
}
