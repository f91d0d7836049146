package hostfuncs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// lifetime is the duration of a call, with the resources that end with it. Its methods may be called from any
// goroutine, except noteEnd.
type lifetime struct {
	host *Host
	// ended is the error that ended the call while its guest ran, nil for none. Only the guest's goroutine uses it.
	ended error
	over  atomic.Bool // the call is over

	mu      sync.Mutex
	closed  bool
	stop    context.Context // done when the call is over; nil before its first use
	cancel  context.CancelFunc
	closers []func()
}

// alive returns an error once the call is over.
func (l *lifetime) alive(ctx context.Context) error {
	if l.over.Load() || l.host.stop.Err() != nil {
		return askErrorf(runtime.KindUnavailable, "the call is over")
	}
	return over(ctx)
}

// over returns the error for the end of ctx, nil while it is active.
func over(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return askErrorf(runtime.KindTimeout, "the call's deadline is exceeded")
	}
	return askErrorf(runtime.KindUnavailable, "the call is over")
}

// until returns a context that is done when the call is over or the host is closed.
func (l *lifetime) until() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop == nil {
		l.stop, l.cancel = context.WithCancel(l.host.stop)
		if l.over.Load() {
			l.cancel()
		}
	}
	return l.stop
}

// noteEnd keeps an error that ends the call.
func (l *lifetime) noteEnd(err error) {
	var end *runtime.EndError
	if errors.As(err, &end) {
		l.ended = end
	}
}

// onClose runs f when the resources are released, or at once if they are.
func (l *lifetime) onClose(f func()) {
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.closers = append(l.closers, f)
	}
	l.mu.Unlock()
	if closed {
		f()
	}
}

// end cancels pending requests of the call, and reports whether this is the first end.
func (l *lifetime) end() (first bool) {
	first = !l.over.Swap(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
	return first
}

// release releases the resources, the latest first.
func (l *lifetime) release() {
	l.mu.Lock()
	closers := l.closers
	l.closers, l.closed = nil, true
	l.mu.Unlock()
	for _, f := range slices.Backward(closers) {
		f()
	}
}

// adopt takes over the resources of another call.
func (l *lifetime) adopt(inner *lifetime) {
	inner.mu.Lock()
	held := inner.closers
	inner.closers = nil
	inner.mu.Unlock()
	for _, f := range held {
		l.onClose(f)
	}
}
