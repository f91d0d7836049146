package registry

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// lifecycle counts the background work of a registry and ends it.
type lifecycle struct {
	stop   context.Context // done when the registry closes: ends loading
	cancel context.CancelFunc
	ending context.Context // done when Close stops waiting: ends calls
	end    context.CancelFunc
	work   sync.WaitGroup // loading, compiling, draining
}

func newLifecycle() *lifecycle {
	l := &lifecycle{}
	l.stop, l.cancel = context.WithCancel(context.Background())
	l.ending, l.end = context.WithCancel(context.Background())
	return l
}

// closeGrace limits how long Close waits after it has cancelled calls.
const closeGrace = 3 * time.Second

// wait returns when all background work has ended. Once ctx is done it cancels the calls and waits at most closeGrace
// longer; a compilation may still be running after that.
func (l *lifecycle) wait(ctx context.Context) error {
	defer l.end()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.work.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	l.end()
	select {
	case <-done:
	case <-time.After(closeGrace):
	}
	return fmt.Errorf("plugins were still at work: %w", context.Cause(ctx))
}
