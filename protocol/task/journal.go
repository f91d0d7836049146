package task

import (
	"context"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// storeTime is the time limit for the local store.
const storeTime = 5 * time.Second

// LostError is the error of an interrupted task that cannot continue.
type LostError struct {
	Message string
	Err     error
}

// Error returns the message, without the cause.
func (e *LostError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

func lost(message string, err error) error {
	return &LostError{Message: message + ", and its host has gone while it ran", Err: err}
}

// Journal loads the stored journal of the task's run into j, and stores further entries, sealed, during the run. It
// does nothing for a task that cannot be replayed. The error is a *LostError, or a *journal.UnknownError for an
// effect of unknown outcome.
func (r *Runner) Journal(t *Task, j *journal.Journal) error {
	if !t.Durable() || t.Kept {
		return nil
	}
	parts, err := r.parts(t)
	if err != nil {
		return err
	}
	if err := j.Continue(parts); err != nil {
		return lost("the task did too much to be run again", err)
	}
	if family, what := j.Unfinished(); family == hostfuncs.LandingFamily {
		return &journal.UnknownError{What: what}
	}
	n := len(parts)
	j.Keep(func(part []byte) error {
		ctx, cancel := context.WithTimeout(context.Background(), storeTime)
		defer cancel()
		err := r.Book.Parts.Add(store.Fenced(ctx, t.fence(r.Book.owner)), t, n, []byte(r.o.Keys.Seal(part)))
		if err == nil {
			n++
		}
		return err
	})
	return nil
}

// parts returns the stored journal parts of the task's run.
func (r *Runner) parts(t *Task) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	parts, err := r.Book.Parts.List(ctx, t)
	if err != nil {
		return nil, lost("the task's journal cannot be read", err)
	}
	for i, text := range parts {
		if parts[i], err = r.o.Keys.Open(string(text)); err != nil {
			return nil, lost("the task's journal was sealed with other keys", err)
		}
	}
	return parts, nil
}
