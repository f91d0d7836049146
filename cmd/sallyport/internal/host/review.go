package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// Review loads the plugin folder of these settings, trusting nothing outside the lock file, and reviews one plugin.
// Errors are those of registry.Registry.Review.
func Review(ctx context.Context, s *settings.Settings, log *slog.Logger, name string) (v *registry.Review, err error) {
	l, err := OpenLock(s, lock.Options{Locked: true, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if pin, known := l.Pin(name); known && !l.Copies.HasAll(pin) {
		if err := l.Copies.Fetch(ctx, pin); err != nil && !errors.Is(err, lock.ErrNotShared) {
			return nil, errors.Join(err, l.Close())
		}
	}
	h, err := Open(ctx, Options{Settings: s, Logger: logging.Quiet(s, log), Lock: l})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	if err := h.Registry.Ready(ctx); err != nil {
		return nil, err
	}
	return h.Registry.Review(name)
}

// Decide records in the lock that the operator approves or rejects the reviewed bytes. Approval deletes pending
// questions of other digests; their answers stay, see Answers.
func Decide(ctx context.Context, s *settings.Settings, v *registry.Review, approve bool) error {
	l, err := OpenLock(s, lock.Options{})
	if err != nil {
		return err
	}
	if !approve {
		return errors.Join(l.Reject(ctx, v.Name, v.After.Digest), l.Close())
	}
	if err := errors.Join(v.Approve(ctx, l), l.Close()); err != nil {
		return err
	}
	return inStore(s, func(kept *store.Store) error { return kept.Prune(ctx, v.Name, v.After.Digest) })
}

// Decided returns a decision about reviewed bytes for the audit log.
func Decided(by string, v *registry.Review, approve bool) consent.Answered {
	answer := "reject"
	if approve {
		answer = "approve"
	}
	return consent.Answered{By: by, Answer: answer, Plugin: v.Name, Digest: v.After.Digest, What: "to serve with these bytes"}
}

// Answers returns the answers that hold for the previously approved digest, without those for one call only.
func Answers(ctx context.Context, s *settings.Settings, v *registry.Review) (all []store.Grant, err error) {
	err = inStore(s, func(kept *store.Store) (err error) {
		all, err = kept.Grants(ctx)
		return err
	})
	return slices.DeleteFunc(all, func(g store.Grant) bool {
		return g.Once || g.Plugin != v.Name || g.Digest != v.Before.Digest || v.Before.Digest == v.After.Digest
	}), err
}

// Answer formats one of Answers for a person.
func Answer(g store.Grant) string {
	return fmt.Sprintf("%s may %s, %s, for %s", ui.Line(g.Plugin), ui.Line(g.Line), ui.Until(g.Expires), ui.Caller(g.Principal))
}

// Carry transfers the Answers of a review to the new digest and notes each, or deletes them. The argument by names the
// origin of the decision in the audit log.
func Carry(ctx context.Context, s *settings.Settings, v *registry.Review, carry bool, by string, note func(consent.Answered) error) error {
	answers, err := Answers(ctx, s, v)
	if err != nil {
		return err
	}
	err = inStore(s, func(kept *store.Store) error {
		if carry {
			if _, err := kept.Carry(ctx, v.Name, v.Before.Digest, v.After.Digest); err != nil {
				return err
			}
		}
		return kept.Forget(ctx, v.Name, v.After.Digest)
	})
	if err != nil || !carry {
		return err
	}
	for _, g := range answers {
		err = errors.Join(err, note(consent.Answered{By: by, Answer: "carry", ID: g.ID, Plugin: g.Plugin, Digest: v.After.Digest,
			Principal: g.Principal, What: g.Line, Until: g.Expires}))
	}
	return err
}

// inStore opens the store of these settings, calls do, and closes it.
func inStore(s *settings.Settings, do func(*store.Store) error) error {
	kept := OpenStore(s)
	return errors.Join(do(kept), kept.Close())
}
