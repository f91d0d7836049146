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
	if h.store != nil {
		landed = (&joint{store: h.store}).Kept
	}
	return commit.Recover(filepath.Join(h.state, landingFolder), landed, h.logger)
}

// Land commits the guest's writes, all or none. It is for a successful call, after the guest's last effect: closing a
// gate without Land drops its writes. The error is an *EndError; ctx limits the wait for other calls that write the
// same files.
//
// The writes of a nested call are committed with the outermost call: Land hands them to the caller.
func (g *Gate) Land(ctx context.Context) error {
	switch {
	case g.ended != nil:
		return g.ended
	case g.call.DryRun:
		return nil
	}
	if above := g.call.Chain.caller(); above != nil {
		above.adopt(g)
		return nil
	}
	gates := g.whole()
	if f := g.policy.host.reached; f != nil {
		ctx = commit.Watch(ctx, f)
	}
	err := ctx.Err()
	if err == nil {
		err = g.landAll(ctx, gates)
	}
	if err != nil {
		return g.notLanded(err)
	}
	return nil
}

// landAll commits files and keys of these calls together. Once it holds the file locks, it no longer stops for ctx,
// so that the commit is whole.
func (g *Gate) landAll(ctx context.Context, gates []*Gate) error {
	if err := g.beginLanding(ctx, gates); err != nil {
		return err
	}
	var set changeSet
	defer set.release()
	if err := set.collect(gates); err != nil {
		return err
	}
	kept := batches(gates)
	if len(kept)+len(set.changes) == 0 {
		return nil
	}
	if err := g.intend(saving); err != nil {
		return err
	}
	dir := filepath.Join(g.policy.host.state, landingFolder)
	var keys commit.Keys
	if len(kept) > 0 {
		keys = &joint{ctx: context.WithoutCancel(ctx), store: g.policy.host.store, kept: kept}
	}
	if err := commit.LandWith(ctx, dir, set.changes, keys); err != nil {
		if !errors.Is(err, commit.ErrHalf) {
			g.recant(saving)
		}
		return err
	}
	g.mu.Lock()
	g.landed = len(set.changes)
	g.mu.Unlock()
	return nil
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

// LandingFamily is the family of the journal entry for the commit of a call's writes.
const LandingFamily = "files/land"

// beginLanding records an upcoming commit in a journal that outlives this process.
func (g *Gate) beginLanding(ctx context.Context, gates []*Gate) error {
	if g.journal == nil || !g.journal.Kept() || !slices.ContainsFunc(gates, (*Gate).wrote) {
		return nil
	}
	err := g.begin(ctx, saving, LandingFamily)
	return err
}

// wrote reports whether the call has changed files or keys.
func (g *Gate) wrote() bool {
	g.mu.Lock()
	held := g.files
	g.mu.Unlock()
	return len(g.kept.writes) > 0 || held != nil && len(held.Effects()) > 0
}

// adopt takes over the writes of a nested call and the resources that hold them.
func (g *Gate) adopt(inner *Gate) {
	g.mu.Lock()
	g.inner = append(g.inner, inner)
	g.mu.Unlock()
	inner.mu.Lock()
	held := inner.closers
	inner.closers = nil
	inner.mu.Unlock()
	for _, f := range held {
		g.onClose(f)
	}
}

// whole returns a call and all its nested calls, in the order in which they ended.
func (g *Gate) whole() (all []*Gate) {
	g.mu.Lock()
	inner := slices.Clone(g.inner)
	g.mu.Unlock()
	for _, i := range inner {
		all = append(all, i.whole()...)
	}
	return append(all, g)
}

// calleesWrote reports whether nested calls have pending writes.
func (g *Gate) calleesWrote() bool {
	return slices.ContainsFunc(g.whole(), func(one *Gate) bool {
		return one != g && (len(one.kept.writes) > 0 || one.files != nil && len(one.files.Effects()) > 0)
	})
}

// lostWrites returns the error for a replay after nested calls with writes: they do not run again, and their writes
// were lost with the first run.
func lostWrites() *runtime.EndError {
	return &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the call cannot continue: the uncommitted writes of a tool that it called were lost in an interruption, and nothing was written"}
}

// changeSet merges the writes of several calls: the later write to a path wins, and folders made by both are merged.
type changeSet struct {
	changes  []commit.Change
	at       map[string]int
	releases []func()
}

// collect adds the files of calls, in the order in which they ended.
func (s *changeSet) collect(gates []*Gate) error {
	for _, one := range gates {
		one.mu.Lock()
		held := one.files
		one.mu.Unlock()
		if held == nil {
			continue
		}
		changes, release, err := held.Changes()
		if err != nil {
			return err
		}
		s.add(changes, release)
	}
	return nil
}

func (s *changeSet) add(changes []commit.Change, release func()) {
	s.releases = append(s.releases, release)
	if s.at == nil {
		s.at = map[string]int{}
	}
	for _, c := range changes {
		i, have := s.at[c.Path]
		if !have {
			s.at[c.Path] = len(s.changes)
			s.changes = append(s.changes, c)
			continue
		}
		if old := s.changes[i].Put; old != nil && c.Put != nil && old.Dir && c.Put.Dir {
			c.Put.Children = append(old.Children, c.Put.Children...)
		}
		s.changes[i] = c
	}
}

func (s *changeSet) release() {
	for _, f := range s.releases {
		f()
	}
}

// notLanded returns the error that ends a call after a failed commit.
func (g *Gate) notLanded(err error) error {
	var end *runtime.EndError
	var ask *runtime.AskError
	switch {
	case errors.As(err, &end):
		return end
	case errors.As(err, &ask):
		return &runtime.EndError{Kind: ask.Kind, Message: ask.Message, Err: err}
	}
	end = &runtime.EndError{Kind: runtime.KindUnavailable, Message: "its writes could not be committed, and nothing was written", Err: err}
	var at *commit.PathError
	name := "a file"
	if errors.As(err, &at) {
		place := (&files{gate: g}).shown(at.Path)
		if !isLocal(g.call.Principal) {
			place = filepath.Base(at.Path) // its folder may be the target of an operator's link
		}
		name = printable(cut(place, maxAct))
	}
	var key *store.ConflictError
	switch {
	case errors.Is(err, commit.ErrHalf):
		end.Kind, end.Message = runtime.KindInternal, commit.ErrHalf.Error()
	case errors.As(err, &key):
		end.Kind = runtime.KindConflict
		end.Message = fmt.Sprintf("key %q was changed by another call, and nothing was written", cut(key.Key, maxMethod))
	case errors.Is(err, store.ErrFull):
		end.Kind = runtime.KindLimit
		end.Message = fmt.Sprintf("it keeps more than the %d bytes that it was granted, and nothing was written", g.kept.quota)
	case errors.Is(err, commit.ErrConflict):
		end.Kind = runtime.KindConflict
		end.Message = fmt.Sprintf("another program changed %s during the call, and nothing was written", name)
	case errors.Is(err, commit.ErrOwner):
		end.Kind = runtime.KindDenied
		end.Message = fmt.Sprintf("%s belongs to another user, whom a new file would not keep: %s", name, g.inPlace())
	case errors.Is(err, context.Canceled):
		end.Kind, end.Message = runtime.KindCancelled, "the call was cancelled before the commit of its writes"
	case errors.Is(err, context.DeadlineExceeded):
		end.Kind, end.Message = runtime.KindDeadline, "the deadline was exceeded before the commit of its writes"
	}
	return end
}

// inPlace returns advice on writing files of other users.
func (g *Gate) inPlace() string {
	if g.journal != nil {
		return "only a call that cannot ask questions, and is no task, writes it in place"
	}
	return "grant it with mode: direct"
}

// Landed returns the number of files and folders that Land changed.
func (g *Gate) Landed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.landed
}
