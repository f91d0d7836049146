package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// landingLasts bounds the lifetime of a landing's record: far longer than the time until a killed host is restarted.
const landingLasts = 10 * 365 * 24 * time.Hour

// Landed reports whether the CommitAll with this landing was committed.
func (k *KeyValues) Landed(ctx context.Context, id string) (bool, error) {
	_, err := (&Records{k.db}).Get(ctx, landingKind, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// EndLanding marks landings that are not queried again. The next CommitAll removes their records.
func (k *KeyValues) EndLanding(ids ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = append(k.ended, ids...)
}

// endedLandings returns and clears the landings with removable records.
func (k *KeyValues) endedLandings() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	done := k.ended
	k.ended = nil
	return done
}

// noteLanding records one landing, and removes the records of others.
func (k *KeyValues) noteLanding(ctx context.Context, tx *sql.Tx, id string, done []string) error {
	for _, old := range done {
		if _, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ?", landingKind, old); err != nil {
			return err
		}
	}
	if id == "" {
		return nil
	}
	now := k.db.now()
	_, err := tx.ExecContext(ctx, "INSERT INTO records VALUES (?, ?, '', '', x'', ?, ?, 0)",
		landingKind, id, stampOf(now), stampOf(now.Add(landingLasts)))
	return err
}
