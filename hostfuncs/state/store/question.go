package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Limits on pending and denied questions: a plugin that asks many times must neither fill the disk nor hide another
// plugin's questions.
const (
	MaxQuestions = 1000
	MaxOfOne     = 20 // of one digest of a plugin, for one principal
)

// ErrCrowded is returned if one plugin has MaxOfOne questions. It wraps ErrFull.
var ErrCrowded = fmt.Errorf("of one plugin: %w", ErrFull)

// Question is an effect that a plugin requested and the operator has not allowed.
type Question struct {
	ID        string
	Plugin    string    // plugin name
	Digest    string    // digest of the plugin's bytes; an answer applies only to it
	Principal string    // caller of the tool
	Line      string    // narrowest grant that would allow the effect
	Want      string    // announced grant of the plugin that covers it; empty if an operator's line requires consent
	Effect    string    // "GET https://api.example.com/x"
	Why       string    // the plugin's reason; may be empty
	Binding   string    // identity of the effect, for a one-time grant
	Asked     time.Time // time of the first request
	Expires   time.Time // time of removal
	Refused   bool      // denied: not asked again until it expires
}

const questionColumns = "id, plugin, digest, principal, line, want, effect, why, binding, asked, expires, refused"

// Ask stores a question. If an equal one of the same plugin and principal is pending or denied, that one is returned.
// The error is ErrCrowded or ErrFull at a limit, or ErrExists if the ID is taken.
func (c *Consents) Ask(ctx context.Context, q Question) (kept Question, err error) {
	now := stampOf(c.db.now())
	q.Asked = timeOf(now)
	err = c.db.write(ctx, consentScope, func(ctx context.Context, tx querier) error {
		kept, err = scanQuestion(tx.QueryRowContext(ctx, "SELECT "+questionColumns+` FROM questions
			WHERE plugin = ? AND digest = ? AND principal = ? AND line = ? AND effect = ? AND (binding = ? OR refused) AND expires > ?
			ORDER BY refused DESC LIMIT 1`,
			q.Plugin, q.Digest, q.Principal, q.Line, q.Effect, q.Binding, now))
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := roomToAsk(ctx, tx, q, now); err != nil {
			return err
		}
		kept = q
		_, err = tx.ExecContext(ctx, "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			q.ID, q.Plugin, q.Digest, q.Principal, q.Line, q.Want, q.Effect, q.Why, q.Binding, now, stampOf(q.Expires), q.Refused)
		return err
	})
	return kept, err
}

// roomToAsk checks the limits.
func roomToAsk(ctx context.Context, tx querier, q Question, now int64) error {
	var all, own, same int
	err := tx.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE plugin = ? AND digest = ? AND principal = ?), count(*) FILTER (WHERE id = ?)
		FROM questions WHERE expires > ?`, q.Plugin, q.Digest, q.Principal, q.ID, now).Scan(&all, &own, &same)
	switch {
	case err != nil:
		return err
	case same > 0:
		return ErrExists
	case own >= MaxOfOne:
		return ErrCrowded
	case all >= MaxQuestions:
		return ErrFull
	}
	return nil
}

func scanQuestion(row scanner) (q Question, err error) {
	var asked, expires int64
	err = row.Scan(&q.ID, &q.Plugin, &q.Digest, &q.Principal, &q.Line, &q.Want, &q.Effect, &q.Why, &q.Binding, &asked, &expires, &q.Refused)
	q.Asked, q.Expires = timeOf(asked), timeOf(expires)
	return q, err
}

// Question returns one question, pending or denied. The error is ErrNotFound if it was allowed, has expired, or never
// existed.
func (c *Consents) Question(ctx context.Context, id string) (Question, error) {
	return get(ctx, c.db, scanQuestion, "SELECT "+questionColumns+" FROM questions WHERE id = ? AND expires > ?", id, stampOf(c.db.now()))
}

// Questions returns the pending questions, oldest first.
func (c *Consents) Questions(ctx context.Context) ([]Question, error) { return c.questions(ctx, false) }

// Refused returns the denied questions, oldest first.
func (c *Consents) Refused(ctx context.Context) ([]Question, error) { return c.questions(ctx, true) }

func (c *Consents) questions(ctx context.Context, refused bool) ([]Question, error) {
	return list(ctx, c.db, scanQuestion, "SELECT "+questionColumns+" FROM questions WHERE expires > ? AND refused = ? ORDER BY asked, id",
		stampOf(c.db.now()), refused)
}
