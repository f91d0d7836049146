package operator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/form"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
)

// Answers is where a person answers: each answer is kept, noted, and makes needless what it covers. It is safe for
// concurrent use.
type Answers struct {
	// Store is where questions and answers are.
	Store *store.Store
	// By is how the person answers, such as ByTerminal.
	By string
	// Note writes an answer that was given down; nil notes nothing. Its error is that of the answer, which holds.
	Note func(Answered) error
}

// Allow answers a question with a grant, which takes the place of what it covers: questions that wait, and grants of
// the same caller that end no later. Errors are those of Store.Allow.
func (a *Answers) Allow(ctx context.Context, id string, how store.Answer) (store.Grant, error) {
	g, err := a.Store.Allow(ctx, id, how)
	if err != nil {
		return g, err
	}
	err = a.note(Answered{Answer: "allow", ID: id, Plugin: g.Plugin, Digest: g.Digest, Principal: g.Principal, What: g.Line, Once: g.Once, Until: g.Expires})
	if err != nil || g.Once {
		return g, err
	}
	return g, a.tidy(ctx, g)
}

// tidy takes out what a new grant covers.
func (a *Answers) tidy(ctx context.Context, g store.Grant) error {
	line, err := grant.ParseLine(g.Line)
	if err != nil {
		return nil // a want that is not one line covers what it covers, and its questions go with the answer
	}
	set := grant.NewSet(line)
	covers := func(plugin, digest, principal, text string) bool {
		narrow, err := grant.ParseLine(text)
		return err == nil && plugin == g.Plugin && digest == g.Digest && principal == g.Principal && set.Includes(narrow)
	}
	grants, err := a.Store.Grants(ctx)
	if err != nil {
		return err
	}
	for _, old := range grants {
		if old.ID != g.ID && covers(old.Plugin, old.Digest, old.Principal, old.Line) && endsWithin(old.Expires, g.Expires) {
			if _, err := a.Store.Revoke(ctx, old.ID); err != nil {
				return err
			}
		}
	}
	questions, err := a.Store.Questions(ctx)
	if err != nil {
		return err
	}
	questions = slices.DeleteFunc(questions, func(q store.Question) bool { return !covers(q.Plugin, q.Digest, q.Principal, q.Line) })
	return a.Store.Answered(ctx, questions...)
}

// endsWithin reports whether what ends at one time, zero being never, does so no later than the other.
func endsWithin(one, other time.Time) bool {
	return other.IsZero() || !one.IsZero() && !one.After(other)
}

// Deny answers a question with no until a time; zero is for ever. Errors are those of Store.Deny.
func (a *Answers) Deny(ctx context.Context, id string, until time.Time) error {
	q, err := a.Store.Question(ctx, id)
	if err == nil {
		err = a.Store.Deny(ctx, id, until)
	}
	if err != nil {
		return err
	}
	return a.note(Answered{Answer: "deny", ID: id, Plugin: q.Plugin, Digest: q.Digest, Principal: q.Principal, What: q.Effect, Until: until})
}

// Open is what an answer with a line lets pass besides what was shown of the one effect, unless it is for once; empty if
// that is nothing. It stands behind "with".
func Open(line string) string {
	g, err := grant.ParseLine(line)
	if err != nil {
		return ""
	}
	return g.Open()
}

// Revoke takes an answer back, one that allows or one that refuses; store.ErrNotFound: there is none.
func (a *Answers) Revoke(ctx context.Context, id string) error {
	was, err := a.find(ctx, id)
	if err != nil {
		return err
	}
	taken, err := a.Store.Revoke(ctx, id)
	switch {
	case err != nil:
		return err
	case !taken:
		return store.ErrNotFound
	}
	return a.note(was)
}

// find is an answer as it is noted when it is taken back.
func (a *Answers) find(ctx context.Context, id string) (Answered, error) {
	grants, err := a.Store.Grants(ctx)
	if err != nil {
		return Answered{}, err
	}
	for _, g := range grants {
		if g.ID == id {
			return Answered{Answer: "revoke", ID: id, Plugin: g.Plugin, Digest: g.Digest, Principal: g.Principal, What: g.Line}, nil
		}
	}
	q, err := a.Store.Question(ctx, id)
	if err == nil && !q.Refused {
		err = store.ErrNotFound
	}
	return Answered{Answer: "revoke", ID: id, Plugin: q.Plugin, Digest: q.Digest, Principal: q.Principal, What: q.Effect}, err
}

// Noted notes the answer to a form, which was kept elsewhere. The error is that of Note.
func (a *Answers) Noted(n Answered) error { return a.note(n) }

// Form is the answer to a form as it is noted: what was typed is between the person and the plugin.
func Form(action string, f form.Form) Answered {
	return Answered{Answer: action, ID: f.ID, Plugin: f.Plugin, Digest: f.Digest, Principal: f.Principal, What: "a form"}
}

func (a *Answers) note(n Answered) error {
	if a.Note == nil {
		return nil
	}
	n.By = a.By
	if err := a.Note(n); err != nil {
		return fmt.Errorf("the answer holds, and the audit log has nothing of it: %w", err)
	}
	return nil
}
