package result

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// ErrorMeta is the _meta key of the machine-readable cause of a failed call.
const ErrorMeta = "dev.sallyport/error"

// Failure is the reason why a plugin call failed.
type Failure struct {
	Kind         runtime.Kind
	Text         string // one sentence, lower case, no full stop
	RetryAfterMs int64  // 0 means unknown
	Busy         bool   // not started, as there was no capacity
	Cause        error

	code  uint32
	stack string
}

// FailureOf returns the Failure of a call's error, or nil for an internal host error.
func FailureOf(err error) *Failure {
	var (
		end   *runtime.EndError
		ask   *runtime.AskError
		shape *ShapeError
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

// Busy returns the expected delay until there is capacity, for a call not started without it, else 0.
func Busy(err error) time.Duration {
	var busy *runtime.BusyError
	if !errors.As(err, &busy) {
		return 0
	}
	return max(busy.After, time.Millisecond)
}

// OverQuota reports whether a call was not started since its caller has used a quota up.
func OverQuota(err error) bool {
	var busy *runtime.BusyError
	return errors.As(err, &busy) && busy.Quota
}

// retryable reports whether the unchanged request may succeed later.
func (f *Failure) retryable() bool {
	switch f.Kind {
	case runtime.KindUnavailable, runtime.KindTimeout, runtime.KindDeadline, runtime.KindConflict,
		runtime.KindLimit, runtime.KindCancelled: // cancelled by the host when the plugin was replaced
		return true
	}
	return f.RetryAfterMs > 0
}

// Data returns the machine-readable part of a failure. call may be "".
func (f *Failure) Data(call string) json.RawMessage {
	o := jsonraw.Object{
		{Key: "kind", Value: jsonraw.AppendString(nil, string(f.Kind))},
		{Key: "retryable", Value: strconv.AppendBool(nil, f.retryable())},
	}
	if f.code != 0 && (f.Kind == runtime.KindExit || f.Kind == runtime.KindUnavailable) {
		o.Set("exitCode", strconv.AppendUint(nil, uint64(f.code), 10))
	}
	if f.RetryAfterMs > 0 {
		o.Set("retryAfterMs", strconv.AppendInt(nil, f.RetryAfterMs, 10))
	}
	if call != "" {
		o.Set("call", jsonraw.AppendString(nil, call))
	}
	return o.Append(nil)
}

// Log logs the details hidden from clients. Empty values are omitted.
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

// broke reports whether the guest's stack shows the point of failure, and not just the current position of the
// call.
func (f *Failure) broke() bool {
	return f.Kind != runtime.KindDeadline && f.Kind != runtime.KindCancelled
}

// level is the log level of the failure. Invalid arguments are routine; effects of which nobody knows are for the operator.
func (f *Failure) level() slog.Level {
	switch f.Kind {
	case runtime.KindInvalid:
		return slog.LevelInfo
	case runtime.KindUnknown:
		return slog.LevelError
	}
	return slog.LevelWarn
}

// Cause returns the internal cause of a failed call, which clients must not see, or nil.
func Cause(err error) error {
	var end *runtime.EndError
	if errors.As(err, &end) {
		return end.Err
	}
	return nil
}

// GuestCode maps the code of a plugin's JSON-RPC error. It keeps invalid params, internal error, and all codes
// outside the ranges reserved by JSON-RPC and MCP. Other standard codes concern the message: HTTP reports them as a
// failed request, which dual-era clients mistake for an old server.
func GuestCode(code int) int {
	const reservedLow, reservedHigh = -32768, -32000
	if code < reservedLow || code > reservedHigh || code == jsonrpc.CodeInvalidParams {
		return code
	}
	return jsonrpc.CodeInternal
}
