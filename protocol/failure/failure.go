package failure

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/answer"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Meta is the _meta key that tells programs why a call failed.
const Meta = "dev.sallyport/error"

// Failure is why a plugin's call gave no answer.
type Failure struct {
	Kind         runtime.Kind
	Text         string // one sentence, lower case, no full stop
	RetryAfterMs int64  // 0 is not known
	Busy         bool   // the call has not begun for want of room
	Cause        error

	code  uint32
	stack string
}

// Of is the failure that an error of a call is; nil if it is our own mistake.
func Of(err error) *Failure {
	var (
		end   *runtime.EndError
		ask   *runtime.AskError
		shape *answer.ShapeError
	)
	switch {
	case errors.As(err, &end) && end.Kind == runtime.KindInternal:
		return nil
	case errors.As(err, &end):
		f := &Failure{Kind: end.Kind, Text: end.Message, Cause: err, code: end.Code, stack: end.Stack}
		if errors.As(end.Err, &ask) {
			f.RetryAfterMs = ask.RetryAfterMs
		}
		if after := Busy(err); after > 0 {
			f.Busy, f.RetryAfterMs = true, after.Milliseconds()
		}
		return f
	case errors.As(err, &ask):
		return &Failure{Kind: ask.Kind, Text: ask.Message, RetryAfterMs: ask.RetryAfterMs, Cause: err}
	case errors.As(err, &shape):
		return &Failure{Kind: runtime.KindGuest, Text: "the plugin's answer breaks the contract: " + shape.Problem, Cause: err}
	}
	return nil
}

// Busy is how long it probably takes until there is room for a call that has not begun for want of it; 0 for every other end.
func Busy(err error) time.Duration {
	var busy *runtime.BusyError
	if !errors.As(err, &busy) {
		return 0
	}
	return max(busy.After, time.Millisecond)
}

// retryable reports whether the same request may succeed later, unchanged.
func (f *Failure) retryable() bool {
	switch f.Kind {
	case runtime.KindUnavailable, runtime.KindTimeout, runtime.KindDeadline, runtime.KindConflict,
		runtime.KindLimit, runtime.KindCancelled: // cancelled by us: the plugin was replaced
		return true
	}
	return f.RetryAfterMs > 0
}

// Data is the machine's half of a failure. call may be "".
func (f *Failure) Data(call string) json.RawMessage {
	o := rawjson.Object{
		{Key: "kind", Value: rawjson.AppendString(nil, string(f.Kind))},
		{Key: "retryable", Value: strconv.AppendBool(nil, f.retryable())},
	}
	if f.RetryAfterMs > 0 {
		o.Set("retryAfterMs", strconv.AppendInt(nil, f.RetryAfterMs, 10))
	}
	if call != "" {
		o.Set("call", rawjson.AppendString(nil, call))
	}
	return o.Append(nil)
}

// Log keeps what a client must not see, behind what it was. Empty values are left out.
func (f *Failure) Log(log *slog.Logger, about ...any) {
	about = append(about, "kind", string(f.Kind), "error", f.Cause)
	if err := Cause(f.Cause); err != nil {
		about = append(about, "cause", err)
	}
	if f.code != 0 {
		about = append(about, "code", f.code)
	}
	if f.stack != "" && (f.broke() || log.Enabled(context.Background(), slog.LevelDebug)) {
		about = append(about, "stack", f.stack)
	}
	if said := stderr(f.Cause); said != "" {
		about = append(about, "stderr", said)
	}
	log.Log(context.Background(), f.level(), "call failed", about...)
}

// broke reports whether the guest's stack is where something went wrong, and not where its call just was.
func (f *Failure) broke() bool {
	return f.Kind != runtime.KindDeadline && f.Kind != runtime.KindCancelled
}

// level is how loud the log is about it: wrong arguments are a model's everyday.
func (f *Failure) level() slog.Level {
	if f.Kind == runtime.KindInvalid {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// Cause is what a call's end does not say itself, since it may be more than a client should know; nil if there is
// nothing.
func Cause(err error) error {
	var end *runtime.EndError
	if errors.As(err, &end) {
		return end.Err
	}
	return nil
}

// GuestCode keeps the codes that a plugin may use in errors of its own: invalid params, internal error and its own,
// which are outside of what JSON-RPC and MCP reserve. The other standard codes are about the
// message, which is not a plugin's business: HTTP shows them as a failed request, and clients of
// two eras take that for an old server.
func GuestCode(code int) int {
	const reservedLow, reservedHigh = -32768, -32000
	if code < reservedLow || code > reservedHigh || code == jsonrpc.CodeInvalidParams {
		return code
	}
	return jsonrpc.CodeInternal
}
