package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// landingLasts is how long the note of a landing is there at most: far longer than a host that was killed is away.
const landingLasts = 10 * 365 * 24 * time.Hour

// Landed reports whether the changes of a CommitAll that named this landing hold.
func (s *Store) Landed(ctx context.Context, id string) (bool, error) {
	_, err := s.Get(ctx, landingKind, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// EndLanding says that nobody will ask for these landings again. Their notes go with the next CommitAll.
func (s *Store) EndLanding(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, ids...)
}

// endedLandings takes the landings whose notes can go.
func (s *Store) endedLandings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := s.ended
	s.ended = nil
	return done
}

// noteLanding notes one landing, and takes out the notes of others.
func (s *Store) noteLanding(ctx context.Context, tx *sql.Tx, id string, done []string) error {
	for _, old := range done {
		if _, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ?", landingKind, old); err != nil {
			return err
		}
	}
	if id == "" {
		return nil
	}
	now := s.now()
	_, err := tx.ExecContext(ctx, "INSERT INTO records VALUES (?, ?, '', '', x'', ?, ?, 0)",
		landingKind, id, stampOf(now), stampOf(now.Add(landingLasts)))
	return err
}
