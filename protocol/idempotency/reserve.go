package idempotency

import (
	"context"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// reservePause is the polling interval while another call with the same key opens a task.
const reservePause = 5 * time.Millisecond

// Reserve takes the key of a call for task c.Task. If another task has the key, it returns the ID of that task, so
// that all calls with a key open only one. known reports whether a task exists. The caller must call release if it
// does not open the task.
func (k *Keeper) Reserve(ctx context.Context, c Call, known func(task string) bool) (task string, release func(), err error) {
	none := func() {}
	for until := time.Now().Add(storeTime); ; {
		claim, refused := k.first(ctx, &c)
		switch {
		case errors.Is(refused, store.ErrExists):
			claim, _, refused = k.taken(ctx, &c)
		case refused != nil:
			return "", none, refused
		}
		if claim != nil {
			return c.Task, func() { claim.free(&c) }, nil
		}
		r, s, err := k.read(ctx, &c)
		switch {
		case errors.Is(err, store.ErrNotFound) && time.Now().Before(until): // just freed
		case err != nil:
			return "", none, err
		case r.Label == "" && s.Phase != runs: // the task returns the answer of a call
			return c.Task, none, nil
		case r.Label == "":
			return "", none, refused
		case known(r.Label):
			return r.Label, none, nil
		case time.Now().After(until):
			return "", none, running()
		}
		select {
		case <-time.After(reservePause): // being opened
		case <-ctx.Done():
			return "", none, ctx.Err()
		}
	}
}

// free removes the record of a call that did not start.
func (c *Claim) free(call *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.persist(call, c.remove)
}
