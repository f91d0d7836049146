package host

import (
	"context"
	"errors"
	"log/slog"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// Review loads the folder of these settings, with nothing trusted that is not in the lock file, and looks at one plugin.
// Errors are those of registry.Registry.Review.
func Review(ctx context.Context, s *settings.Settings, log *slog.Logger, name string) (v *registry.Review, err error) {
	l, err := OpenLock(s, lock.Options{Locked: true, ReadOnly: true})
	if err != nil {
		return nil, err
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

// Decide writes down in the lock file of these settings that a person approves what was reviewed, or rejects it.
func Decide(ctx context.Context, s *settings.Settings, v *registry.Review, approve bool) error {
	l, err := OpenLock(s, lock.Options{})
	if err != nil {
		return err
	}
	if approve {
		return v.Approve(ctx, l)
	}
	return l.Reject(ctx, v.Name, v.After.Digest)
}
