package idempotency

import (
	"context"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// reservePause is the time between two looks at a task that another call with the same key is beginning.
const reservePause = 5 * time.Millisecond

// Reserve takes the key of a call that is to be a task, whose name is c.Task. If another task has the key it returns that
// one's name: of all calls with a key one begins a task. Known reports whether a task is there. The caller calls release
// where the task does not begin.
func (k *Keeper) Reserve(ctx context.Context, c Call, known func(task string) bool) (task string, release func(), err error) {
	none := func() {}
	for until := time.Now().Add(storeTime); ; {
		claim, _, refused := k.claim(ctx, &c)
		if claim != nil {
			return c.Task, func() { claim.free(ctx, &c) }, nil
		}
		r, s, err := k.read(ctx, &c)
		switch {
		case errors.Is(err, store.ErrNotFound) && time.Now().Before(until): // it was freed just now
		case err != nil:
			return "", none, err
		case r.Label == "" && s.Phase != runs: // the task has the answer of a call
			return c.Task, none, nil
		case r.Label == "":
			return "", none, refused
		case known(r.Label):
			return r.Label, none, nil
		case time.Now().After(until):
			return "", none, running()
		}
		select {
		case <-time.After(reservePause): // it is being begun
		case <-ctx.Done():
			return "", none, ctx.Err()
		}
	}
}

// free gives the key of a call back that did not begin.
func (c *Claim) free(ctx context.Context, call *Call) {
	if err := c.store.Remove(context.WithoutCancel(ctx), store.Reply, call.id()); err != nil {
		call.Log.Warn("an idempotency key cannot be freed", "error", err)
	}
}
