package task

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// countEvery is the interval at which the tasks of a store are counted, while this process is busy with some. Otherwise it is
// adoptEvery.
const countEvery = 10 * time.Second

// Counts are numbers of tasks by status.
type Counts struct {
	// Working and Input are the tasks of the store, of all its processes, at a moment of the last half minute, and those of
	// this process that are in no store.
	Working, Input int
	// Completed, Failed and Cancelled are the tasks that this process has brought to an end.
	Completed, Failed, Cancelled uint64
}

// counter counts for Counts without a wait for the store. It is safe for concurrent use.
type counter struct {
	working, input               atomic.Int64
	completed, failed, cancelled atomic.Uint64
}

// ended counts a task with a final status.
func (c *counter) ended(s Status) {
	switch s {
	case Completed:
		c.completed.Add(1)
	case Failed:
		c.failed.Add(1)
	case Cancelled:
		c.cancelled.Add(1)
	}
}

// Counts returns the numbers. Without a store, those of tasks under way are of this moment.
func (r *Runner) Counts() Counts {
	c := &r.Book.counter
	if r.o.Store == nil {
		_ = r.Book.count(r.ctx) // cannot fail without a store
	}
	return Counts{Working: int(c.working.Load()), Input: int(c.input.Load()),
		Completed: c.completed.Load(), Failed: c.failed.Load(), Cancelled: c.cancelled.Load()}
}

// count counts the tasks under way.
func (b *Book) count(ctx context.Context) (err error) {
	var working, input int
	if b.store != nil {
		if working, input, err = b.store.Tally(ctx, store.Task); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tasks {
		switch {
		case t.Durable():
		case t.Status == Working:
			working++
		case t.Status == Input:
			input++
		}
	}
	b.counter.working.Store(int64(working))
	b.counter.input.Store(int64(input))
	return nil
}
