package store

import (
	"context"
	"database/sql"
	"time"
)

// Grant is an answer that allows.
type Grant struct {
	ID        string // the question's
	Plugin    string // its name
	Digest    string // of the bytes it is for
	Principal string // whose calls it is for
	Line      string // in the language of grants
	Binding   string // of Once: the one effect
	Once      bool   // gone after its first use
	Given     time.Time
	Expires   time.Time // zero is never
}

// Answer is what an operator says to a question that waits.
type Answer struct {
	// Want allows all that the plugin announced, not only what it asked for now. It is never for once.
	Want bool
	// Once allows the one effect, one time.
	Once bool
	// Expires is when the answer is forgotten; zero is never.
	Expires time.Time
}

// Allow answers a question with a grant, which takes the question's place, and that of those which it answers
// as well. ErrNotFound: nobody asks that, or it was answered.
func (s *Store) Allow(ctx context.Context, question string, a Answer) (g Grant, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		q, err := waiting(ctx, tx, question, s.now())
		if err != nil {
			return err
		}
		g = Grant{ID: q.ID, Plugin: q.Plugin, Digest: q.Digest, Principal: q.Principal, Line: q.Line, Once: a.Once && !a.Want,
			Given: timeOf(stampOf(s.now())), Expires: timeOf(stampOf(a.Expires))}
		if a.Want {
			if q.Want == "" {
				return ErrNotFound
			}
			g.Line = q.Want
		}
		if g.Once {
			g.Binding = q.Binding
		}
		if err := settle(ctx, tx, q, g); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			g.ID, g.Plugin, g.Digest, g.Principal, g.Line, g.Binding, g.Once, stampOf(g.Given), stampOf(g.Expires))
		return err
	})
	s.answers.Add(1)
	return g, err
}

// Answers is another number after each answer that was given or taken back through this Store, so that whoever has read
// them knows when to read again. What other processes answer does not change it.
func (s *Store) Answers() uint64 { return s.answers.Load() }

// waiting finds a question that has no answer.
func waiting(ctx context.Context, tx *sql.Tx, id string, now time.Time) (Question, error) {
	q, err := scanQuestion(tx.QueryRowContext(ctx, "SELECT "+questionColumns+" FROM questions WHERE id = ? AND expires > ? AND NOT refused",
		id, stampOf(now)))
	return q, one(err)
}

// settle takes out what a grant answers: the question, and if it is for more than once those like it.
func settle(ctx context.Context, tx *sql.Tx, q Question, g Grant) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM questions WHERE id = ?", q.ID)
	if err != nil || g.Once {
		return err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM questions WHERE NOT refused AND plugin = ? AND digest = ? AND principal = ?
		AND (line = ? OR want = ?)`, q.Plugin, q.Digest, q.Principal, g.Line, g.Line)
	return err
}

// Answered takes out questions that an answer to another one covers. Those that wait for them find the grant.
func (s *Store) Answered(ctx context.Context, questions ...Question) error {
	if len(questions) == 0 {
		return nil
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		for _, q := range questions {
			if _, err := tx.ExecContext(ctx, "DELETE FROM questions WHERE id = ? AND NOT refused", q.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// Deny answers a question with no, and is not asked the same again before the time that it names; zero is
// never. ErrNotFound: nobody asks that, or it was answered.
func (s *Store) Deny(ctx context.Context, question string, expires time.Time) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		q, err := waiting(ctx, tx, question, s.now())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM questions WHERE id <> ? AND NOT refused AND plugin = ? AND digest = ? AND principal = ?
			AND line = ? AND effect = ?`, q.ID, q.Plugin, q.Digest, q.Principal, q.Line, q.Effect)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE questions SET refused = 1, expires = ? WHERE id = ?", stampOf(expires), q.ID)
		return err
	})
}

const grantColumns = "id, plugin, digest, principal, line, binding, once, given, expires"

// Grants returns the answers that allow, the oldest first.
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

// Revoke takes an answer back, one that allows or one that refuses, and is how one for once is used up: true
// for the one caller who took it.
func (s *Store) Revoke(ctx context.Context, id string) (taken bool, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		var all int64
		for _, from := range []string{"DELETE FROM grants WHERE id = ? AND expires > ?", "DELETE FROM questions WHERE id = ? AND expires > ? AND refused"} {
			done, err := tx.ExecContext(ctx, from, id, stampOf(s.now()))
			if err != nil {
				return err
			}
			n, err := done.RowsAffected()
			if err != nil {
				return err
			}
			all += n
		}
		taken = all > 0
		return nil
	})
	s.answers.Add(1)
	return taken, err
}

// Restore gives an answer for once back that was taken and not used.
func (s *Store) Restore(ctx context.Context, g Grant) error {
	err := s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO grants VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			g.ID, g.Plugin, g.Digest, g.Principal, g.Line, g.Binding, g.Once, stampOf(g.Given), stampOf(g.Expires))
		return err
	})
	s.answers.Add(1)
	return err
}

// Carry has the answers that were for some bytes of a plugin hold for others; those for once are not among them. It
// returns how many there were.
func (s *Store) Carry(ctx context.Context, plugin, before, after string) (n int64, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "UPDATE grants SET digest = ? WHERE plugin = ? AND digest = ? AND NOT once AND expires > ?",
			after, plugin, before, stampOf(s.now()))
		if err != nil {
			return err
		}
		n, err = done.RowsAffected()
		return err
	})
	s.answers.Add(1)
	return n, err
}

// Forget removes the answers of a plugin that are for other bytes than these: nothing runs any more that they allow.
func (s *Store) Forget(ctx context.Context, plugin, digest string) error {
	err := s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM grants WHERE plugin = ? AND digest <> ?", plugin, digest)
		return err
	})
	s.answers.Add(1)
	return err
}

// Prune removes the questions of a plugin that other bytes than these asked: nobody waits for their answers.
func (s *Store) Prune(ctx context.Context, plugin, digest string) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM questions WHERE plugin = ? AND digest <> ?", plugin, digest)
		return err
	})
}
