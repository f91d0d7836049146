package consent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// Answers stores an operator's answers: each is recorded, and replaces questions and grants that it covers. It is
// safe for concurrent use.
type Answers struct {
	// Store holds questions and answers.
	Store *store.Store
	// By is the way of answering, such as ByTerminal.
	By string
	// Note records an answer; nil records none. Its error is returned, but the answer stays in effect.
	Note func(Answered) error
}

// Allow answers a question with a grant. The grant replaces pending questions that it covers, and the caller's grants
// that it covers and that expire no later. Errors are those of Store.Allow.
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

// tidy removes questions and grants that a new grant covers.
func (a *Answers) tidy(ctx context.Context, g store.Grant) error {
	line, err := grant.ParseLine(g.Line)
	if err != nil {
		return nil // a multi-line want covers its own questions, which Store.Allow removes
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

// endsWithin reports whether one expiry is no later than the other. Zero is never.
func endsWithin(one, other time.Time) bool {
	return other.IsZero() || !one.IsZero() && !one.After(other)
}

// Deny answers a question with a denial until a time. The zero time is for ever. Errors are those of Store.Deny.
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

// Open describes the parts of an effect that a line leaves open, apart from the effect shown, unless it is for one
// use. It follows the word "with" in messages, and may be empty.
func Open(line string) string {
	g, err := grant.ParseLine(line)
	if err != nil {
		return ""
	}
	return g.Open()
}

// Revoke withdraws a grant or a denial. The error is store.ErrNotFound if there is none.
func (a *Answers) Revoke(ctx context.Context, id string) error {
	was, err := a.find(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	revoked, err := a.Store.Revoke(ctx, id) // if find found none too: an effect may have taken it, and give it back
	switch {
	case err != nil:
		return err
	case !revoked:
		return store.ErrNotFound
	}
	return a.note(was)
}

// find returns an answer in the form in which its revocation is recorded.
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

// Noted records the answer to a form, which is stored elsewhere. The error is that of Note.
func (a *Answers) Noted(n Answered) error { return a.note(n) }

// Form returns the recorded form of an answer to a form. It omits the typed content, which is private to the person
// and the plugin.
func Form(action string, f elicit.Form) Answered {
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
