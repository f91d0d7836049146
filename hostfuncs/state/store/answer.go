package store

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"
)

// Grant is an operator's answer that allows a question.
type Grant struct {
	ID        string // ID of the question
	Plugin    string // plugin name
	Digest    string // digest of the plugin's bytes
	Principal string // caller that it applies to
	Line      string // in the grant language
	Binding   string // with Once: identity of the one effect
	Once      bool   // removed at its first use
	Given     time.Time
	Expires   time.Time // zero is never
}

// Answer is an operator's answer to a pending question.
type Answer struct {
	// Want allows everything that the plugin announced, not only the current request. It overrides Once.
	Want bool
	// Once allows the one effect, one time.
	Once bool
	// Expires is the expiry of the answer; zero is never.
	Expires time.Time
}

// takenTime is the time in which a taken grant can be restored. Its row stays that long.
const takenTime = time.Hour

// Consents are the questions of plugins and the operator's answers.
type Consents struct {
	db      *database
	answers atomic.Uint64 // number of answer changes by this Store
}

// Allow answers a question with a grant, which replaces the question and others that it also answers. The error is
// ErrNotFound if no such question is pending.
func (c *Consents) Allow(ctx context.Context, question string, a Answer) (g Grant, err error) {
	err = c.db.write(ctx, consentScope, func(ctx context.Context, tx querier) error {
		q, err := waiting(ctx, tx, question, c.db.now())
		if err != nil {
			return err
		}
		g = Grant{ID: q.ID, Plugin: q.Plugin, Digest: q.Digest, Principal: q.Principal, Line: q.Line, Once: a.Once && !a.Want,
			Given: timeOf(stampOf(c.db.now())), Expires: timeOf(stampOf(a.Expires))}
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
	c.answers.Add(1)
	return g, err
}

// Answers returns a counter that changes with each answer given or withdrawn through this Store, for cache
// invalidation. Answers by other processes do not change it.
func (c *Consents) Answers() uint64 { return c.answers.Load() }

// waiting returns a pending question.
func waiting(ctx context.Context, tx querier, id string, now time.Time) (Question, error) {
	q, err := scanQuestion(tx.QueryRowContext(ctx, "SELECT "+questionColumns+" FROM questions WHERE id = ? AND expires > ? AND NOT refused",
		id, stampOf(now)))
	return q, one(err)
}

// settle removes the questions that a grant answers: its own, and equal ones unless it is for one use.
func settle(ctx context.Context, tx querier, q Question, g Grant) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM questions WHERE id = ?", q.ID)
	if err != nil || g.Once {
		return err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM questions WHERE NOT refused AND plugin = ? AND digest = ? AND principal = ?
		AND (line = ? OR want = ?)`, q.Plugin, q.Digest, q.Principal, g.Line, g.Line)
	return err
}

// Answered removes pending questions that another answer covers. Calls that wait for them find the grant.
func (c *Consents) Answered(ctx context.Context, questions ...Question) error {
	if len(questions) == 0 {
		return nil
	}
	return c.db.write(ctx, consentScope, func(ctx context.Context, tx querier) error {
		for _, q := range questions {
			if _, err := tx.ExecContext(ctx, "DELETE FROM questions WHERE id = ? AND NOT refused", q.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// Deny answers a question with a denial: it is not asked again before expires (zero is never). The error is
// ErrNotFound if no such question is pending.
func (c *Consents) Deny(ctx context.Context, question string, expires time.Time) error {
	return c.db.write(ctx, consentScope, func(ctx context.Context, tx querier) error {
		q, err := waiting(ctx, tx, question, c.db.now())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM questions WHERE id <> ? AND NOT refused AND plugin = ? AND digest = ? AND principal = ?
			AND line = ? AND effect = ?`, q.ID, q.Plugin, q.Digest, q.Principal, q.Line, q.Effect)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM grants WHERE line = '' AND plugin = ? AND digest = ? AND principal = ? AND binding = ?",
			q.Plugin, q.Digest, q.Principal, q.Binding) // taken ones of the same effect are not restored
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE questions SET refused = TRUE, expires = ? WHERE id = ?", stampOf(expires), q.ID)
		return err
	})
}

const grantColumns = "id, plugin, digest, principal, line, binding, once, given, expires"

// Grants returns the grants, oldest first.
func (c *Consents) Grants(ctx context.Context) ([]Grant, error) {
	return list(ctx, c.db, scanGrant, "SELECT "+grantColumns+" FROM grants WHERE line <> '' AND expires > ? ORDER BY given, id", stampOf(c.db.now()))
}

func scanGrant(row scanner) (g Grant, err error) {
	var given, expires int64
	err = row.Scan(&g.ID, &g.Plugin, &g.Digest, &g.Principal, &g.Line, &g.Binding, &g.Once, &given, &expires)
	g.Given, g.Expires = timeOf(given), timeOf(expires)
	return g, err
}

// Revoke withdraws a grant or a denial. revoked is true for only one caller. A grant that is taken cannot be restored
// afterwards, and counts as absent.
func (c *Consents) Revoke(ctx context.Context, id string) (revoked bool, err error) {
	err = c.db.write(ctx, consentScope, func(ctx context.Context, tx querier) error {
		now := stampOf(c.db.now())
		if _, err := changes(tx.ExecContext(ctx, "DELETE FROM grants WHERE id = ? AND line = ''", id)); err != nil {
			return err
		}
		grants, err := changes(tx.ExecContext(ctx, "DELETE FROM grants WHERE id = ? AND expires > ?", id, now))
		if err != nil {
			return err
		}
		denials, err := changes(tx.ExecContext(ctx, "DELETE FROM questions WHERE id = ? AND expires > ? AND refused", id, now))
		revoked = grants+denials > 0
		return err
	})
	c.answers.Add(1)
	return revoked, err
}

// Take uses up a one-time grant. taken is true for only one caller. The row stays for takenTime without its line, which
// allows nothing, and shows Restore that the grant was not revoked.
func (c *Consents) Take(ctx context.Context, id string) (taken bool, err error) {
	err = c.db.write(ctx, consentScope, func(ctx context.Context, tx querier) error {
		now := c.db.now()
		n, err := changes(tx.ExecContext(ctx, `UPDATE grants SET line = '', expires = CASE WHEN expires < ? THEN expires ELSE ? END
			WHERE id = ? AND once AND line <> '' AND expires > ?`, stampOf(now.Add(takenTime)), stampOf(now.Add(takenTime)), id, stampOf(now)))
		taken = n > 0
		return err
	})
	c.answers.Add(1)
	return taken, err
}

// Restore returns a one-time grant that was taken but not used, unless it was revoked or its plugin's digest was
// forgotten meanwhile.
func (c *Consents) Restore(ctx context.Context, g Grant) error {
	err := c.db.write(ctx, consentScope, func(ctx context.Context, tx querier) error {
		_, err := tx.ExecContext(ctx, "UPDATE grants SET line = ?, expires = ? WHERE id = ? AND line = '' AND expires > ?",
			g.Line, stampOf(g.Expires), g.ID, stampOf(c.db.now()))
		return err
	})
	c.answers.Add(1)
	return err
}

// changes returns the number of rows that a statement changed.
func changes(done sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// Carry transfers the grants for one digest of a plugin to another, except one-time grants. It returns their number.
func (c *Consents) Carry(ctx context.Context, plugin, before, after string) (n int64, err error) {
	err = c.db.write(ctx, consentScope, func(ctx context.Context, tx querier) error {
		n, err = changes(tx.ExecContext(ctx, "UPDATE grants SET digest = ? WHERE plugin = ? AND digest = ? AND NOT once AND expires > ?",
			after, plugin, before, stampOf(c.db.now())))
		return err
	})
	c.answers.Add(1)
	return n, err
}

// Forget removes the grants for all other digests of a plugin, which no longer run.
func (c *Consents) Forget(ctx context.Context, plugin, digest string) error {
	err := c.db.write(ctx, consentScope, func(ctx context.Context, tx querier) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM grants WHERE plugin = ? AND digest <> ?", plugin, digest)
		return err
	})
	c.answers.Add(1)
	return err
}

// Prune removes the questions, pending or denied, of all other digests of a plugin: no call waits for them.
func (c *Consents) Prune(ctx context.Context, plugin, digest string) error {
	return c.db.write(ctx, consentScope, func(ctx context.Context, tx querier) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM questions WHERE plugin = ? AND digest <> ?", plugin, digest)
		return err
	})
}
