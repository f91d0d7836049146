// Package consent asks the operator for consent to effects that no line allows, and looks up the answers.
//
//	call ─▶ gate ──▶ Desk.Ask ──▶ store ◀── sallyport pending, the console
//	          ▲                     │
//	          └──── Desk.Wait ◀─────┴◀── sallyport allow, deny, the console
//
// Questions and answers go only through the store, so that any process of the state folder can answer any question. A
// Desk polls for answers four times a second, and only while a call waits or looks up grants.
//
//	d := consent.New(consent.Options{Store: s, Wait: true})
//	kept, verdict := d.Ask(ctx, question)
//	if verdict == consent.Asked {
//		verdict = d.Wait(ctx, kept.ID)
//	}
package consent

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

const (
	// lookAgain is the polling interval of the store: after an answer the call continues well within a second.
	lookAgain = 250 * time.Millisecond
	// questionTime is the lifetime of an unanswered question: longer than a weekend.
	questionTime = 72 * time.Hour
	// idLength is the length of a question's ID in characters: 40 bits, short enough to type.
	idLength = 8
)

const (
	// OnceTime is the lifetime of an unused one-time grant: the call is repeated soon, or not at all.
	OnceTime = time.Hour
	// RefusedTime is the default lifetime of a denial: long enough not to ask repeatedly.
	RefusedTime = 30 * 24 * time.Hour
)

// Verdict is the state of a question.
type Verdict int

// The verdicts.
const (
	Unasked Verdict = iota // not asked: the store failed
	Crowded                // not asked: the plugin has store.MaxOfOne questions that are pending or denied
	Full                   // not asked: all plugins have store.MaxQuestions that are pending or denied
	Asked                  // pending
	Allowed                // a grant was given; the caller checks whether it covers an effect
	Refused                // denied
)

// Options configure a Desk.
type Options struct {
	// Store holds questions and answers.
	Store *store.Store
	// Wait lets calls wait for the answer. Without it they are denied at once, and must be repeated.
	Wait bool
	// Flags are the command-line flags that select this state folder ("--state ~/other"), or empty. They are shown to
	// clients and must not contain secrets.
	Flags string
	// Told is called for each new question of this process, on the goroutine of the call. It may be nil.
	Told func(store.Question)
	// Logger receives store failures; nil discards them.
	Logger *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Desk submits the questions of one process and looks up their answers. It is safe for concurrent use.
type Desk struct {
	opts Options

	mu     sync.Mutex
	grants []store.Grant
	read   time.Time // time of that read
	state  uint64    // the store's answer counter, before the read
}

// New returns a Desk.
func New(o Options) *Desk {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Desk{opts: o}
}

// Command returns a command line about questions: Command("allow", id).
func (d *Desk) Command(words ...string) string {
	all := slices.Concat([]string{"sallyport"}, words, []string{d.opts.Flags})
	return strings.TrimSpace(strings.Join(all, " "))
}

// Waits reports whether calls wait for answers.
func (d *Desk) Waits() bool { return d.opts.Wait }

// Grants returns the operator's grants to one digest of a plugin for one principal. An answer of this process is
// included at once, one of another process a quarter of a second later.
func (d *Desk) Grants(ctx context.Context, plugin, digest, principal string) []store.Grant {
	var own []store.Grant
	for _, g := range d.all(ctx) {
		if g.Plugin == plugin && g.Digest == digest && g.Principal == principal && (g.Expires.IsZero() || g.Expires.After(d.opts.Now())) {
			own = append(own, g)
		}
	}
	return own
}

// all reads the store, unless its last read is recent and this process has stored no answer since.
func (d *Desk) all(ctx context.Context) []store.Grant {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, state := d.opts.Now(), d.opts.Store.Answers()
	if now.Sub(d.read) >= lookAgain || d.read.IsZero() || state != d.state {
		grants, err := d.opts.Store.Grants(ctx)
		if err != nil {
			d.failed(err)
			return nil
		}
		d.grants, d.read, d.state = grants, now, state
	}
	return d.grants
}

// forget invalidates the cached grants.
func (d *Desk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = time.Time{}
}

// Take consumes a one-time grant. It returns true for only one caller in all processes.
func (d *Desk) Take(ctx context.Context, id string) bool {
	taken, err := d.opts.Store.Take(ctx, id)
	if err != nil {
		d.failed(err)
	}
	d.forget()
	return taken && err == nil
}

// Give returns a taken grant that was not used, unless it was revoked meanwhile.
func (d *Desk) Give(ctx context.Context, g store.Grant) {
	if err := d.opts.Store.Restore(ctx, g); err != nil {
		d.failed(err)
	}
	d.forget()
}

// Ask stores a question, sets its ID, Asked and Expires, and returns it as stored. It is idempotent: an equal
// question that is pending or denied is returned instead.
func (d *Desk) Ask(ctx context.Context, q store.Question) (store.Question, Verdict) {
	q.Expires = d.opts.Now().Add(questionTime)
	var kept store.Question
	err := store.ErrExists
	for errors.Is(err, store.ErrExists) {
		q.ID = strings.ToLower(rand.Text()[:idLength])
		kept, err = d.opts.Store.Ask(ctx, q)
	}
	switch {
	case errors.Is(err, store.ErrCrowded):
		return q, Crowded
	case errors.Is(err, store.ErrFull):
		return q, Full
	case err != nil:
		d.failed(err)
		return q, Unasked
	case kept.Refused:
		return kept, Refused
	}
	if kept.ID == q.ID && d.opts.Told != nil {
		d.opts.Told(kept)
	}
	return kept, Asked
}

// Wait waits until a question is answered, and returns the verdict. If ctx ends first, it returns Asked.
func (d *Desk) Wait(ctx context.Context, id string) Verdict {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		q, err := d.opts.Store.Question(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound): // or it has expired, and then there is no grant
			d.forget()
			return Allowed
		case err == nil && q.Refused:
			return Refused
		case err != nil && ctx.Err() == nil:
			d.failed(err)
		}
		select {
		case <-ctx.Done():
			return Asked
		case <-tick.C:
		}
	}
}

func (d *Desk) failed(err error) {
	d.opts.Logger.Error("questions and answers cannot be reached", "error", err)
}
