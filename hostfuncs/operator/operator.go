// Package operator puts what no line allows before the person who runs this host, and finds the answer.
//
//	call ─▶ gate ──▶ Desk.Ask ──▶ store ◀── sallyport pending, the console
//	          ▲                     │
//	          └──── Desk.Wait ◀─────┴◀── sallyport allow, deny, the console
//
// Question and answer go through the store alone, so that any process of the state folder may answer another's
// question: a Desk looks for answers four times a second, and only while somebody waits or wants to know.
//
//	d := operator.New(operator.Options{Store: s, Wait: true})
//	kept, verdict := d.Ask(ctx, question)
//	if verdict == operator.Asked {
//		verdict = d.Wait(ctx, kept.ID)
//	}
//
// This package is internal to Sallyport: it is not promised to others.
package operator

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
)

const (
	// lookAgain is how often the store is asked: a person who has answered finds the call going on, well within
	// a second.
	lookAgain = 250 * time.Millisecond
	// questionTime is how long a question waits for its answer: over a weekend.
	questionTime = 72 * time.Hour
	// idLength is how long the name of a question is: 40 bits, short enough to be typed.
	idLength = 8
)

const (
	// OnceTime is how long an answer for once waits to be used: the call is made again soon, or not at all.
	OnceTime = time.Hour
	// RefusedTime is how long a no holds, unless somebody says otherwise: long enough not to nag.
	RefusedTime = 30 * 24 * time.Hour
)

// Verdict is how a question stands.
type Verdict int

// The verdicts.
const (
	Unasked Verdict = iota // it could not be asked: the store failed
	Crowded                // it was not asked: store.MaxOfOne of this plugin wait or were refused
	Full                   // it was not asked: store.MaxQuestions of all plugins wait or were refused
	Asked                  // nobody has answered yet
	Allowed                // a grant was given; whether it covers an effect is for the grant to say
	Refused                // the answer is no
)

// Options configure a Desk.
type Options struct {
	// Store is where questions and answers are.
	Store *store.Store
	// Wait lets calls wait for the answer; without it they are refused at once, and made again.
	Wait bool
	// Flags are what a command needs to find this state folder, as a person types them: "--state ~/other"; empty is
	// nothing. Clients are told them: they hold nothing that only the operator may know.
	Flags string
	// Told is called for each new question of this process, on the goroutine of the call; nil is nobody.
	Told func(store.Question)
	// Logger hears of a store that fails; nil discards.
	Logger *slog.Logger
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Desk is where the calls of one process ask. It is safe for concurrent use.
type Desk struct {
	opts Options

	mu     sync.Mutex
	grants []store.Grant
	read   time.Time // when they were
	state  uint64    // of the store's answers, before they were
}

// New returns a desk.
func New(o Options) *Desk {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Desk{opts: o}
}

// Command is what a person types to do something with questions: Command("allow", id).
func (d *Desk) Command(words ...string) string {
	all := slices.Concat([]string{"sallyport"}, words, []string{d.opts.Flags})
	return strings.TrimSpace(strings.Join(all, " "))
}

// Waits reports whether calls wait for answers.
func (d *Desk) Waits() bool { return d.opts.Wait }

// Grants returns what was allowed to these bytes of a plugin for one principal. An answer of this process holds
// at once; one of another process is among them a quarter of a second later.
func (d *Desk) Grants(ctx context.Context, plugin, digest, principal string) []store.Grant {
	var own []store.Grant
	for _, g := range d.all(ctx) {
		if g.Plugin == plugin && g.Digest == digest && g.Principal == principal && (g.Expires.IsZero() || g.Expires.After(d.opts.Now())) {
			own = append(own, g)
		}
	}
	return own
}

// all reads the store, unless that was done just now and nobody has answered in this process since.
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

// forget has the next look read the store.
func (d *Desk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = time.Time{}
}

// Take uses a grant for once up: true for the one caller, of all processes, who may use it.
func (d *Desk) Take(ctx context.Context, id string) bool {
	taken, err := d.opts.Store.Revoke(ctx, id)
	if err != nil {
		d.failed(err)
	}
	d.forget()
	return taken && err == nil
}

// Give gives back what was taken and not used.
func (d *Desk) Give(ctx context.Context, g store.Grant) {
	if err := d.opts.Store.Restore(ctx, g); err != nil {
		d.failed(err)
	}
	d.forget()
}

// Ask puts a question, whose ID, Asked and Expires are set here, and returns it as it is kept: the same question
// is asked once, and not again when it was refused.
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

// Wait waits until a question is answered or ctx is done, and then returns Asked.
func (d *Desk) Wait(ctx context.Context, id string) Verdict {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		q, err := d.opts.Store.Question(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound): // or it has expired, and then no grant is there
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
