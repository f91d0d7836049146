package hostfuncs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/hostfuncs/landing"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// landingFolder holds the records and locks of landings, below the state folder.
const landingFolder = "landing"

// Recover finishes or undoes what calls of processes that are gone were about to write.
func (h *Host) Recover() error {
	return landing.Recover(filepath.Join(h.state, landingFolder), h.logger)
}

// Land makes what the guest wrote last, all of it or nothing. It is for a call that has succeeded, after the
// guest's last effect: a gate that is closed without it drops its writes. The error is an *EndError; ctx ends
// the waiting for other calls that write the same files.
func (g *Gate) Land(ctx context.Context) error {
	if g.call.DryRun {
		return nil
	}
	if err := g.commit(ctx, func() error { return g.landFiles(ctx) }); err != nil {
		return g.notLanded(err)
	}
	return nil
}

func (g *Gate) landFiles(ctx context.Context) error {
	g.mu.Lock()
	held := g.files
	g.mu.Unlock()
	if held == nil {
		return nil
	}
	changes, release, err := held.Changes()
	if err != nil {
		return err
	}
	defer release()
	if err := landing.Land(ctx, filepath.Join(g.policy.host.state, landingFolder), changes); err != nil {
		return err
	}
	g.mu.Lock()
	g.landed = len(changes)
	g.mu.Unlock()
	return nil
}

// notLanded is the end of a call whose writes could not be made to last.
func (g *Gate) notLanded(err error) error {
	end := &runtime.EndError{Kind: runtime.KindUnavailable, Message: "what it wrote could not be saved, and nothing was", Err: err}
	var at *landing.PathError
	name := "a file"
	if errors.As(err, &at) {
		name = printable(cut((&files{gate: g}).shown(at.Path), maxAct))
	}
	var key *store.ConflictError
	switch {
	case errors.As(err, &key):
		end.Kind = runtime.KindConflict
		end.Message = fmt.Sprintf("key %q was changed by another call, and nothing was written", cut(key.Key, maxMethod))
	case errors.Is(err, store.ErrFull):
		end.Kind = runtime.KindLimit
		end.Message = fmt.Sprintf("it keeps more than the %d bytes that it was granted, and nothing was written", g.kept.quota)
	case errors.Is(err, landing.ErrHalf):
		end.Kind, end.Message = runtime.KindInternal, landing.ErrHalf.Error()
	case errors.Is(err, landing.ErrConflict):
		end.Kind = runtime.KindConflict
		end.Message = fmt.Sprintf("%s was changed by somebody else while the call ran, and nothing was written", name)
	case errors.Is(err, landing.ErrOwner):
		end.Kind = runtime.KindDenied
		end.Message = fmt.Sprintf("%s belongs to another user, whom a new file would not keep: grant it with mode: direct", name)
	case errors.Is(err, context.Canceled):
		end.Kind, end.Message = runtime.KindCancelled, "the call was cancelled before its writes were saved"
	case errors.Is(err, context.DeadlineExceeded):
		end.Kind, end.Message = runtime.KindDeadline, "the caller's time was over before its writes were saved"
	}
	return end
}

// Landed is how many files and folders Land changed.
func (g *Gate) Landed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.landed
}
