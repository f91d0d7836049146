package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// How many questions there may be, waiting or refused: a plugin that asks ten thousand times must neither fill the
// disk nor hide another's question.
const (
	MaxQuestions = 1000
	MaxOfOne     = 20 // of these bytes of one plugin, for one principal
)

// ErrCrowded says that one plugin has MaxOfOne questions. It is an ErrFull.
var ErrCrowded = fmt.Errorf("of one plugin: %w", ErrFull)

// Question is an effect that a plugin wanted and an operator has not allowed.
type Question struct {
	ID        string
	Plugin    string    // its name
	Digest    string    // of its bytes: an answer is for them
	Principal string    // whose call it was
	Line      string    // the narrowest grant that would allow it
	Want      string    // the grant that the plugin announced and that covers it; empty if the operator's own line asks
	Effect    string    // "GET https://api.example.com/x"
	Why       string    // what the plugin says about it; empty if nothing
	Binding   string    // what one answer for this one effect is bound to
	Asked     time.Time // the first time
	Expires   time.Time // forgotten then
	Refused   bool      // answered no: it is not asked again until it expires
}

const questionColumns = "id, plugin, digest, principal, line, want, effect, why, binding, asked, expires, refused"

// Ask keeps a question, unless the same plugin asked the same for the same principal before, or that was
// refused: then that one is returned. ErrCrowded, ErrFull: too many wait or were refused. ErrExists: another has this ID.
func (s *Store) Ask(ctx context.Context, q Question) (kept Question, err error) {
	now := stampOf(s.now())
	q.Asked = timeOf(now)
	err = s.write(ctx, func(tx *sql.Tx) error {
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

// roomToAsk holds the bounds.
func roomToAsk(ctx context.Context, tx *sql.Tx, q Question, now int64) error {
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

// Question returns one question, waiting or refused. ErrNotFound: it was allowed, or it has expired, or nobody
// asked it.
func (s *Store) Question(ctx context.Context, id string) (Question, error) {
	db, err := s.reader(ctx)
	if err != nil {
		return Question{}, err
	}
	if db == nil {
		return Question{}, ErrNotFound
	}
	q, err := scanQuestion(db.QueryRowContext(ctx, "SELECT "+questionColumns+" FROM questions WHERE id = ? AND expires > ?",
		id, stampOf(s.now())))
	return q, one(err)
}

// Questions returns those that wait, the oldest first.
func (s *Store) Questions(ctx context.Context) ([]Question, error) { return s.questions(ctx, false) }

// Refused returns those that were answered no, the oldest first.
func (s *Store) Refused(ctx context.Context) ([]Question, error) { return s.questions(ctx, true) }

func (s *Store) questions(ctx context.Context, refused bool) ([]Question, error) {
	db, err := s.reader(ctx)
	if db == nil || err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, "SELECT "+questionColumns+" FROM questions WHERE expires > ? AND refused = ? ORDER BY asked, id",
		stampOf(s.now()), refused)
	return collect(rows, err, scanQuestion)
}
