package task

import (
	"context"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// claimSpare is the time for which a claim outlasts the wait for answers: that to store them.
const claimSpare = time.Minute

// ClaimQuestions gives the caller the exclusive right, among the processes of the store, to send the questions of a task
// for a time within, until release. It returns the task as it is then. ok is false if the task has no questions any more,
// or if another caller has the right.
func (r *Runner) ClaimQuestions(ctx context.Context, t Task, within time.Duration) (now Task, release func(), ok bool, err error) {
	if !r.Clients.claim(t.ID) {
		return t, nil, false, nil
	}
	release = func() { r.Clients.unclaim(t.ID) }
	if t.Durable() {
		version, err := r.Book.claim(ctx, &t, within)
		if err != nil || version == 0 {
			release()
			return t, nil, false, err
		}
		release = func() {
			r.disclaim(t.ID, version)
			r.Clients.unclaim(t.ID)
		}
	}
	// Another caller may have had the right and the answers since t was read.
	if now, err = r.Book.Get(ctx, t.Principal, t.ID); err != nil || now.Status != Input {
		release()
		return now, nil, false, err
	}
	return now, release, true, nil
}

// claim stores that this process asks the questions of a task, and returns the version of the record, or 0 if another
// process that lives does so.
func (b *Book) claim(ctx context.Context, t *Task, within time.Duration) (version int64, err error) {
	if err := b.Ready(); err != nil {
		return 0, err
	}
	c := store.Record{ID: t.ID, Principal: t.Principal, Data: []byte(b.owner), Expires: b.now().Add(within + claimSpare)}
	held, err := b.store.Get(ctx, store.Claim, t.ID)
	switch by := string(held.Data); {
	case errors.Is(err, store.ErrNotFound):
		c, err = b.store.Add(ctx, store.Claim, c)
	case err == nil && by != b.owner && !b.store.Gone(by):
		return 0, nil
	case err == nil:
		c.Version = held.Version
		c, err = b.store.Replace(ctx, store.Claim, c)
	}
	if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrConflict) { // another process was first
		return 0, nil
	}
	return c.Version, err
}

// disclaim removes a claim of this process. While the store is away, that is tried again.
func (r *Runner) disclaim(id string, version int64) {
	remove := func() bool {
		err := r.o.Store.RemoveVersion(context.Background(), store.Claim, id, version)
		return err == nil || errors.Is(err, store.ErrConflict)
	}
	if remove() {
		return
	}
	r.Go(func() {
		for {
			select {
			case <-time.After(notePause):
			case <-r.ctx.Done():
				return // no process asks for one that has ended
			}
			if remove() {
				return
			}
		}
	})
}
