package runtime

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime/image"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/unwind"
)

// The causes with which a call's own context ends.
var (
	errStart   = fmt.Errorf("the start's %w", context.DeadlineExceeded)
	errDrained = fmt.Errorf("the plugin was closed: %w", context.Canceled)
)

// overtime is the cause of the end of a call that exceeded its deadline.
type overtime struct {
	setting string // the setting that limited it
	limit   time.Duration
}

func (o *overtime) Error() string {
	return fmt.Sprintf("the call's %v: %s", context.DeadlineExceeded, o.said())
}

func (o *overtime) Unwrap() error { return context.DeadlineExceeded }

func (o *overtime) said() string { return fmt.Sprintf("%s is %s", o.setting, o.limit) }

// maxStack bounds the recorded guest stack trace, in bytes: its names come from the guest and have any length.
const maxStack = 16 << 10

// ended is the single place that converts the end of a guest to the error of its call. In order of precedence: the
// error of an Abort, deadline or cancellation, an exit, a trap. Anything else is a fault of the host.
func ended(ctx context.Context, err error, mem *image.Memory) error {
	text, stack := splitStack(err)
	var abort *abortSignal
	if errors.As(err, &abort) {
		return aborted(ctx, abort.err, stack)
	}
	if ctx.Err() != nil {
		return outOfTime(ctx, err, stack)
	}
	var exit *exitSignal
	if errors.As(err, &exit) {
		return &EndError{Kind: KindExit, Message: fmt.Sprintf("the guest exited with code %d%s", exit.code, refusal(ctx, mem)),
			Code: exit.code, Stack: stack, Refused: refusal(ctx, mem)}
	}
	if trap, ok := trapText(err, text); ok {
		if uncaught(stack) {
			trap = "an exception was not caught"
		}
		return &EndError{Kind: KindTrap, Message: "the guest trapped: " + trap + refusal(ctx, mem), Stack: stack, Err: errors.New(trap)}
	}
	end := hostFault(err)
	end.Stack = stack
	return end
}

// aborted returns the end that a host function requested by Abort.
func aborted(ctx context.Context, err error, stack string) error {
	var end *EndError
	var guest *GuestError
	var ask *AskError
	switch {
	case errors.As(err, &end):
		e := *end
		if e.Stack == "" {
			e.Stack = stack
		}
		return &e
	case errors.As(err, &guest):
		return guest
	case errors.As(err, &ask):
		return &EndError{Kind: ask.Kind, Message: ask.Message, Stack: stack, Err: err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return outOfTime(ctx, err, stack)
	}
	e := hostFault(err)
	e.Stack = stack
	return e
}

// outOfTime distinguishes the deadlines from cancellation by the caller.
func outOfTime(ctx context.Context, err error, stack string) error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = err
	}
	end := &EndError{Kind: KindCancelled, Message: "the call was cancelled", Stack: stack, Err: cause}
	var over *overtime
	switch {
	case errors.Is(cause, errStart):
		end.Kind, end.Message = KindDeadline, "the guest did not start in time"
	case errors.As(cause, &over):
		end.Kind, end.Message = KindDeadline, "the guest did not answer in time: "+over.said()
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(cause, context.DeadlineExceeded):
		end.Kind, end.Message = KindDeadline, "the deadline was exceeded"
	case errors.Is(cause, errDrained):
		end.Message = "the plugin was closed during the call"
	}
	if !errors.Is(end.Err, context.Canceled) && !errors.Is(end.Err, context.DeadlineExceeded) {
		end.Err = errors.Join(cause, ctx.Err())
	}
	return end
}

// Texts of engine errors, which have no exported types.
const (
	trapPrefix    = "wasm error: "
	stackHeading  = "wasm stack trace:\n\t"
	stackOverflow = "stack overflow"

	stackExhausted = "the guest trapped: call stack exhausted"
)

// splitStack separates the guest's stack trace from the text of an engine error.
func splitStack(err error) (text, stack string) {
	text, stack, _ = strings.Cut(err.Error(), stackHeading)
	if len(stack) > maxStack {
		stack = strings.ToValidUTF8(stack[:maxStack], "") + "…"
	}
	return strings.TrimSuffix(text, "\n"), stack
}

func trapText(err error, text string) (string, bool) {
	var fault goruntime.Error
	if errors.As(err, &fault) {
		return "", false
	}
	if text == stackOverflow { // frames can be larger than the depth counter assumes
		return "call stack exhausted", true
	}
	_, trap, ok := strings.Cut(text, trapPrefix)
	return trap, ok
}

// uncaught reports whether the guest's stack begins at the trap that ends an exception. The names in the stack come from
// the guest, so a guest can pretend it.
func uncaught(stack string) bool {
	top, _, _ := strings.Cut(stack, "\n")
	return strings.Contains(top, unwind.Uncaught)
}

// refusal returns a message suffix if the guest was denied memory, which is the probable, not the certain cause.
func refusal(ctx context.Context, mem *image.Memory) string {
	if mem == nil || !mem.Refused() {
		return ""
	}
	var on *terms
	if c := callOf(ctx); c != nil {
		on = c.terms
	}
	return fmt.Sprintf(", after it was refused more than %s of memory (%s)", bytesText(mem.Limit()), on.memorySetting())
}

func guestFault(format string, args ...any) *EndError {
	return &EndError{Kind: KindGuest, Message: fmt.Sprintf(format, args...)}
}

func hostFault(err error) *EndError {
	return &EndError{Kind: KindInternal, Message: "the host failed while it served this call", Err: err}
}

// bytesText formats a number of bytes in the largest unit that divides it.
func bytesText(n uint64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
