package store

import (
	"context"
	"errors"
	"time"
)

// landingLasts bounds the lifetime of a landing's record: far longer than the time until a killed host is restarted.
const landingLasts = 10 * 365 * 24 * time.Hour

// landingScope is that of one landing, held by its CommitAll.
func landingScope(id string) scope { return scope{name: "landing\x00" + id} }

// Landed reports whether the CommitAll with this landing was committed. One whose outcome is open, because the
// connection was lost during its commit, is waited for.
func (k *KeyValues) Landed(ctx context.Context, id string) (bool, error) {
	if err := k.db.settle(ctx, landingScope(id)); err != nil {
		return false, err
	}
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
func (k *KeyValues) noteLanding(ctx context.Context, tx querier, id string, done []string) error {
	for _, old := range done {
		if _, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ?", landingKind, old); err != nil {
			return err
		}
	}
	if id == "" {
		return nil
	}
	now := k.db.now()
	_, err := tx.ExecContext(ctx, "INSERT INTO records VALUES (?, ?, '', '', ?, ?, ?, 0)",
		landingKind, id, []byte{}, stampOf(now), stampOf(now.Add(landingLasts)))
	return err
}
