package hostfuncs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// landingFolder holds the records and locks of commits, below the state folder.
const landingFolder = "landing"

// Recover completes or rolls back the unfinished commits of terminated processes.
func (h *Host) Recover() error {
	var landed commit.Landed
	if h.options.Store != nil {
		landed = (&joint{store: h.options.Store}).Kept
	}
	return commit.Recover(filepath.Join(h.options.State, landingFolder), landed, h.options.Logger)
}

// Land commits the guest's writes, all or none. It is for a successful call, after the guest's last effect: closing a
// gate without Land drops its writes. The error is an *EndError; ctx limits the wait for other calls that write the
// same files.
//
// The writes of a nested call are committed with the outermost call: Land hands them to the caller.
func (g *Gate) Land(ctx context.Context) error {
	switch {
	case g.life.ended != nil:
		return g.life.ended
	case g.call.DryRun:
		return nil
	}
	if above := g.call.Chain.caller(); above != nil {
		above.writes.adopt(&g.writes)
		above.life.adopt(&g.life)
		return nil
	}
	l := landing{host: g.policy.host, replay: &g.replay, intents: &g.intents, calls: g.writes.all()}
	if f := g.policy.host.options.Reached; f != nil {
		ctx = commit.Watch(ctx, f)
	}
	err := ctx.Err()
	if err == nil {
		err = l.run(ctx)
	}
	if err != nil {
		return l.failure(err, g.session.local(), g.writes.keys.quota)
	}
	g.record.commit(l.landed)
	return nil
}

// landing is the commit of the writes of one outermost call and its nested calls.
type landing struct {
	host    *Host
	replay  *replay
	intents *intents
	calls   []*writes
	landed  int // number of files and folders changed
}

// run commits files and keys together. Once it holds the file locks, it no longer stops for ctx, so that the commit
// is whole.
func (l *landing) run(ctx context.Context) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	var set changeSet
	defer set.release()
	if err := set.collect(l.calls); err != nil {
		return err
	}
	kept := batches(l.calls)
	if len(kept)+len(set.changes) == 0 {
		return nil
	}
	if err := l.intents.intend(saving); err != nil {
		return err
	}
	dir := filepath.Join(l.host.options.State, landingFolder)
	var keys commit.Keys
	if len(kept) > 0 {
		keys = &joint{ctx: context.WithoutCancel(ctx), store: l.host.options.Store, kept: kept}
	}
	if err := commit.LandWith(ctx, dir, set.changes, keys); err != nil {
		if !errors.Is(err, commit.ErrHalf) && !errors.Is(err, store.ErrUnknown) {
			l.intents.recant(saving)
		}
		return err
	}
	l.landed = len(set.changes)
	return nil
}

// LandingFamily is the family of the journal entry for the commit of a call's writes.
const LandingFamily = "files/land"

// begin records an upcoming commit in a journal that outlives this process.
func (l *landing) begin(ctx context.Context) error {
	if j := l.replay.journal; j == nil || !j.Kept() || !slices.ContainsFunc(l.calls, (*writes).any) {
		return nil
	}
	return l.replay.begin(ctx, saving, LandingFamily)
}

// failure returns the error that ends a call after a failed commit. A caller that is not local gets no host paths, and
// quota is the call's limit on keys.
func (l *landing) failure(err error, local bool, quota int64) error {
	var end *runtime.EndError
	var ask *runtime.AskError
	switch {
	case errors.As(err, &end):
		return end
	case errors.As(err, &ask):
		return &runtime.EndError{Kind: ask.Kind, Message: ask.Message, Err: err}
	}
	end = &runtime.EndError{Kind: runtime.KindUnavailable, Message: "its writes could not be committed, and nothing was written", Err: err}
	var key *store.ConflictError
	switch {
	case errors.Is(err, commit.ErrHalf):
		end.Kind, end.Message = runtime.KindUnknown, commit.ErrHalf.Error()
	case errors.Is(err, store.ErrUnknown):
		end.Kind, end.Message = runtime.KindUnknown, "the database was lost while its keys were committed, and whether they were kept is not known"
	case errors.Is(err, store.ErrFenced):
		end.Message = "another host runs the task by now, and nothing was written here"
	case errors.As(err, &key):
		end.Kind = runtime.KindConflict
		end.Message = fmt.Sprintf("key %q was changed by another call, and nothing was written", cut(key.Key, maxMethod))
	case errors.Is(err, store.ErrFull):
		end.Kind = runtime.KindLimit
		end.Message = fmt.Sprintf("it keeps more than the %d bytes that it was granted, and nothing was written", quota)
	case errors.Is(err, commit.ErrConflict):
		end.Kind = runtime.KindConflict
		end.Message = fmt.Sprintf("another program changed %s during the call, and nothing was written", l.nameOf(err, local))
	case errors.Is(err, commit.ErrOwner):
		end.Kind = runtime.KindDenied
		end.Message = fmt.Sprintf("%s belongs to another user, whom a new file would not keep: %s", l.nameOf(err, local), l.inPlace())
	case errors.Is(err, context.Canceled):
		end.Kind, end.Message = runtime.KindCancelled, "the call was cancelled before the commit of its writes"
	case errors.Is(err, context.DeadlineExceeded):
		end.Kind, end.Message = runtime.KindDeadline, "the deadline was exceeded before the commit of its writes"
	}
	return end
}

// nameOf returns the file that an error concerns, for a message.
func (l *landing) nameOf(err error, local bool) string {
	var at *commit.PathError
	if !errors.As(err, &at) {
		return "a file"
	}
	place := l.host.shown(at.Path)
	if !local {
		place = filepath.Base(at.Path) // its folder may be the target of an operator's link
	}
	return printable(cut(place, maxAct))
}

// inPlace returns advice on writing files of other users.
func (l *landing) inPlace() string {
	if l.replay.journal != nil {
		return "only a call that cannot ask questions, and is no task, writes it in place"
	}
	return "grant it with mode: direct"
}

// joint commits keys together with files.
type joint struct {
	ctx   context.Context
	store *store.Store
	kept  []store.Batch
}

var _ commit.Keys = (*joint)(nil)

// Keep commits the keys.
func (j *joint) Keep(id string, apply func() error) error {
	return j.store.CommitAll(j.ctx, j.kept, id, apply)
}

// Kept reports whether the keys of a commit were stored.
func (j *joint) Kept(id string) (bool, error) { return j.store.Landed(context.Background(), id) }

// Ended forgets a commit.
func (j *joint) Ended(id string) { j.store.EndLanding(id) }
