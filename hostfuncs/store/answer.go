package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// maxQuestions is how many questions may wait for an answer: a plugin that asks ten thousand times must
// neither fill the disk nor hide another's question.
const (
	maxQuestions      = 1000
	maxQuestionsOfOne = 50 // of one plugin
)

// Question is an effect that a plugin wanted and an operator has not answered.
type Question struct {
	ID        string
	Plugin    string    // its name
	Digest    string    // of its bytes: an answer is for them
	Principal string    // whose call it was
	Line      string    // the grant that would allow it
	Effect    string    // "GET https://api.example.com/x"
	Why       string    // what the plugin's manifest says about it; empty if nothing
	Binding   string    // what one answer for this one effect is bound to
	Asked     time.Time // the first time
	Expires   time.Time // forgotten then
	Refused   bool      // answered no: it is not asked again until it expires
}

// Grant is an answer that allows.
type Grant struct {
	ID        string
	Plugin    string // its name
	Digest    string // of the bytes it is for
	Principal string // whose calls it is for; empty is everybody's
	Line      string // in the language of grants
	Binding   string // of Once: the one effect
	Once      bool   // gone after its first use
	Given     time.Time
	Expires   time.Time // zero is never
}

const questionColumns = "id, plugin, digest, principal, line, effect, why, binding, asked, expires, refused"

// Ask keeps a question, unless the same plugin asked for the same line or effect before: then that one is
// returned. ErrFull: too many wait.
func (s *Store) Ask(ctx context.Context, q Question) (kept Question, err error) {
	q.Asked = timeOf(stampOf(s.now()))
	err = s.write(ctx, func(tx *sql.Tx) error {
		kept, err = scanQuestion(tx.QueryRowContext(ctx, "SELECT "+questionColumns+` FROM questions
			WHERE plugin = ? AND digest = ? AND principal = ? AND line = ? AND effect = ? AND binding = ? AND expires > ?`,
			q.Plugin, q.Digest, q.Principal, q.Line, q.Effect, q.Binding, stampOf(s.now())))
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var all, own int
		err = tx.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE plugin = ?) FROM questions WHERE expires > ?",
			q.Plugin, stampOf(s.now())).Scan(&all, &own)
		if err != nil {
			return err
		}
		if all >= maxQuestions || own >= maxQuestionsOfOne {
			return ErrFull
		}
		kept = q
		_, err = tx.ExecContext(ctx, "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			q.ID, q.Plugin, q.Digest, q.Principal, q.Line, q.Effect, q.Why, q.Binding, stampOf(q.Asked), stampOf(q.Expires), q.Refused)
		return err
	})
	return kept, err
}

func scanQuestion(row scanner) (q Question, err error) {
	var asked, expires int64
	err = row.Scan(&q.ID, &q.Plugin, &q.Digest, &q.Principal, &q.Line, &q.Effect, &q.Why, &q.Binding, &asked, &expires, &q.Refused)
	q.Asked, q.Expires = timeOf(asked), timeOf(expires)
	return q, err
}

// Questions returns those that wait, the oldest first.
func (s *Store) Questions(ctx context.Context) ([]Question, error) {
	db, err := s.reader(ctx)
	if db == nil || err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, "SELECT "+questionColumns+" FROM questions WHERE expires > ? AND NOT refused ORDER BY asked, id",
		stampOf(s.now()))
	return collect(rows, err, scanQuestion)
}

// Allow answers a question with a grant, which takes the question's place. ErrNotFound: nobody asks that.
func (s *Store) Allow(ctx context.Context, question string, g Grant) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "DELETE FROM questions WHERE id = ? AND expires > ?", question, stampOf(s.now()))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			g.ID, g.Plugin, g.Digest, g.Principal, g.Line, g.Binding, g.Once, stampOf(s.now()), stampOf(g.Expires))
		return err
	})
}

// Deny answers a question with no. It is not asked again before it expires.
func (s *Store) Deny(ctx context.Context, question string) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "UPDATE questions SET refused = 1 WHERE id = ? AND expires > ?", question, stampOf(s.now()))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		return nil
	})
}

const grantColumns = "id, plugin, digest, principal, line, binding, once, given, expires"

// Grants returns the answers that hold, the oldest first.
func (s *Store) Grants(ctx context.Context) ([]Grant, error) {
	db, err := s.reader(ctx)
	if db == nil || err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, "SELECT "+grantColumns+" FROM grants WHERE expires > ? ORDER BY given, id", stampOf(s.now()))
	return collect(rows, err, func(row scanner) (g Grant, err error) {
		var given, expires int64
		err = row.Scan(&g.ID, &g.Plugin, &g.Digest, &g.Principal, &g.Line, &g.Binding, &g.Once, &given, &expires)
		g.Given, g.Expires = timeOf(given), timeOf(expires)
		return g, err
	})
}

// Revoke takes an answer back, and is how one for once is used up: true for the one caller who took it.
func (s *Store) Revoke(ctx context.Context, grant string) (taken bool, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "DELETE FROM grants WHERE id = ? AND expires > ?", grant, stampOf(s.now()))
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		taken = n > 0
		return err
	})
	return taken, err
}
