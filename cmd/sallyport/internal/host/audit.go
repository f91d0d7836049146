package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// heads returns the heads of the audit logs in a database; nil without one.
func heads(s *settings.Settings, kept *store.Store) *audit.Heads {
	if s.Text("store") == "" {
		return nil
	}
	dir := s.Text("state")
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	return &audit.Heads{Store: kept, Host: name + ":" + dir}
}

// RecordedHeads returns the heads that the database has of the audit log of these settings, and those of other hosts;
// none without a database.
func RecordedHeads(ctx context.Context, s *settings.Settings) (own, others []audit.Head, err error) {
	if s.Text("store") == "" {
		return nil, nil, nil
	}
	err = inStore(s, func(kept *store.Store) error {
		h := heads(s, kept)
		own, err = h.All(ctx)
		others = slices.Clone(own)
		own = slices.DeleteFunc(own, func(one audit.Head) bool { return one.Host != h.Host })
		others = slices.DeleteFunc(others, func(one audit.Head) bool { return one.Host == h.Host })
		return err
	})
	return own, others, err
}

// NoteOnce returns a function that writes one answer as a chain of the audit log of its own.
func NoteOnce(s *settings.Settings) func(consent.Answered) error {
	return func(a consent.Answered) error {
		return inChain(s, func(note func(consent.Answered) error) error { return note(a) })
	}
}

// Change is consent.Change with a chain of the audit log of its own.
func Change(s *settings.Settings, change func() error, answers ...consent.Answered) error {
	return inChain(s, func(note func(consent.Answered) error) error { return consent.Change(note, change, answers...) })
}

// inChain calls do with a function that writes answers to one chain of the audit log, each on disk when it returns.
func inChain(s *settings.Settings, do func(note func(consent.Answered) error) error) error {
	return inStore(s, func(kept *store.Store) error {
		log := audit.New(s.State().Audit(), audit.Options{Heads: heads(s, kept)})
		return errors.Join(do(noteIn(log)), log.Close())
	})
}

// noteIn returns a function that writes an answer to a log, and returns when it is on disk.
func noteIn(log *audit.Log) func(consent.Answered) error {
	return func(a consent.Answered) error {
		_, err := log.Append(a.Members())
		return errors.Join(err, log.Sync())
	}
}
