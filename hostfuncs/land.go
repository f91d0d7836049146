package hostfuncs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/landing"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// landingFolder holds the records and locks of landings, below the state folder.
const landingFolder = "landing"

// Recover finishes or undoes what calls of processes that are gone were about to write.
func (h *Host) Recover() error {
	var landed landing.Landed
	if h.store != nil {
		landed = (&joint{store: h.store}).Kept
	}
	return landing.Recover(filepath.Join(h.state, landingFolder), landed, h.logger)
}

// Land makes what the guest wrote last, all of it or nothing. It is for a call that has succeeded, after the
// guest's last effect: a gate that is closed without it drops its writes. The error is an *EndError; ctx ends
// the waiting for other calls that write the same files.
//
// What a nested call wrote lands with the outermost one: Land leaves it to the caller.
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
		ctx = landing.Watch(ctx, f)
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

// landAll makes files and keys of these calls last together. Whoever waits for the call may go once it has the locks
// of the files: what lands, lands as a whole.
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
	var keys landing.Keys
	if len(kept) > 0 {
		keys = &joint{ctx: context.WithoutCancel(ctx), store: g.policy.host.store, kept: kept}
	}
	if err := landing.LandWith(ctx, dir, set.changes, keys); err != nil {
		if !errors.Is(err, landing.ErrHalf) {
			g.recant(saving)
		}
		return err
	}
	g.mu.Lock()
	g.landed = len(set.changes)
	g.mu.Unlock()
	return nil
}

// joint is the keys that last together with files.
type joint struct {
	ctx   context.Context
	store *store.Store
	kept  []store.Batch
}

var _ landing.Keys = (*joint)(nil)

// Keep keeps the keys.
func (j *joint) Keep(id string, apply func() error) error {
	return j.store.CommitAll(j.ctx, j.kept, id, apply)
}

// Kept reports whether a landing's keys were kept.
func (j *joint) Kept(id string) (bool, error) { return j.store.Landed(context.Background(), id) }

// Ended forgets a landing.
func (j *joint) Ended(id string) { j.store.EndLanding(id) }

// LandingFamily is the family of the entry that a kept journal has for the landing of what a call wrote.
const LandingFamily = "files/land"

// beginLanding notes in a journal that outlives this process that writes are about to last.
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

// adopt takes over what a call wrote that this one made, and what it holds open for that.
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

// whole is a call with all that it made, in the order in which they ended.
func (g *Gate) whole() (all []*Gate) {
	g.mu.Lock()
	inner := slices.Clone(g.inner)
	g.mu.Unlock()
	for _, i := range inner {
		all = append(all, i.whole()...)
	}
	return append(all, g)
}

// calleesWrote reports whether calls that this one made wrote something that is to land with it.
func (g *Gate) calleesWrote() bool {
	return slices.ContainsFunc(g.whole(), func(one *Gate) bool {
		return one != g && (len(one.kept.writes) > 0 || one.files != nil && len(one.files.Effects()) > 0)
	})
}

// lostWrites is the end of a call that is run again after calls that it made: they do not run again, and what they
// wrote was lost with its first run.
func lostWrites() *runtime.EndError {
	return &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the call cannot go on: what a tool that it called wrote was lost when it was interrupted, and nothing was written"}
}

// changeSet joins what several calls wrote: of two that wrote one path the later holds, and folders that both
// made are one.
type changeSet struct {
	changes  []landing.Change
	at       map[string]int
	releases []func()
}

// collect takes in the files of calls, in the order in which they ended.
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

func (s *changeSet) add(changes []landing.Change, release func()) {
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

// notLanded is the end of a call whose writes could not be made to last.
func (g *Gate) notLanded(err error) error {
	var end *runtime.EndError
	var ask *runtime.AskError
	switch {
	case errors.As(err, &end):
		return end
	case errors.As(err, &ask):
		return &runtime.EndError{Kind: ask.Kind, Message: ask.Message, Err: err}
	}
	end = &runtime.EndError{Kind: runtime.KindUnavailable, Message: "what it wrote could not be saved, and nothing was", Err: err}
	var at *landing.PathError
	name := "a file"
	if errors.As(err, &at) {
		place := (&files{gate: g}).shown(at.Path)
		if !isLocal(g.call.Principal) {
			place = filepath.Base(at.Path) // its folder may be where a link of the operator's leads
		}
		name = printable(cut(place, maxAct))
	}
	var key *store.ConflictError
	switch {
	case errors.Is(err, landing.ErrHalf):
		end.Kind, end.Message = runtime.KindInternal, landing.ErrHalf.Error()
	case errors.As(err, &key):
		end.Kind = runtime.KindConflict
		end.Message = fmt.Sprintf("key %q was changed by another call, and nothing was written", cut(key.Key, maxMethod))
	case errors.Is(err, store.ErrFull):
		end.Kind = runtime.KindLimit
		end.Message = fmt.Sprintf("it keeps more than the %d bytes that it was granted, and nothing was written", g.kept.quota)
	case errors.Is(err, landing.ErrConflict):
		end.Kind = runtime.KindConflict
		end.Message = fmt.Sprintf("%s was changed by somebody else while the call ran, and nothing was written", name)
	case errors.Is(err, landing.ErrOwner):
		end.Kind = runtime.KindDenied
		end.Message = fmt.Sprintf("%s belongs to another user, whom a new file would not keep: %s", name, g.inPlace())
	case errors.Is(err, context.Canceled):
		end.Kind, end.Message = runtime.KindCancelled, "the call was cancelled before its writes were saved"
	case errors.Is(err, context.DeadlineExceeded):
		end.Kind, end.Message = runtime.KindDeadline, "the caller's time was over before its writes were saved"
	}
	return end
}

// inPlace says how files of others can be written.
func (g *Gate) inPlace() string {
	if g.journal != nil {
		return "only a call that can ask nobody, and is no task, writes it in place"
	}
	return "grant it with mode: direct"
}

// Landed is how many files and folders Land changed.
func (g *Gate) Landed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.landed
}
