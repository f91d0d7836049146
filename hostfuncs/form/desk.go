package form

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
)

const (
	// MaxParams bounds a form, in bytes: one that a person fills in, with choices.
	MaxParams = 16 << 10
	// maxForms and maxFormsOfOne bound those that wait, also for their answer to be taken, of all and of one plugin
	// for one caller: nobody reads more.
	maxForms      = 200
	maxFormsOfOne = 20
	// lookAgain is how often the store is asked by a call that waits.
	lookAgain = 250 * time.Millisecond
	// waitTime is how long a form waits for its answer: over a weekend.
	waitTime = 72 * time.Hour
	// keepTime is how long an answer waits for the call to be made again.
	keepTime = time.Hour
	// idLength is how long the name of a form is: 40 bits, short enough to be typed.
	idLength = 8
)

// Form is what a plugin asks.
type Form struct {
	ID        string // set by Ask
	Plugin    string
	Digest    string // of its bytes
	Principal string // whose call it is
	Params    json.RawMessage
	Asked     time.Time // set by Ask
}

// record is how a form is kept. JSON is in it as text, so that it stays what it was to the byte.
type record struct {
	Plugin, Digest string
	Params         string
	Answer         string `json:",omitempty"` // an ElicitResult; empty while it waits
}

// label is the same for the same form, and begins alike for those of one plugin.
func (f Form) label() string {
	return f.plugin() + hash(f.Digest, f.Principal, string(f.Params))
}

func (f Form) plugin() string { return hash(f.Plugin) }

func hash(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Options configure a Desk.
type Options struct {
	// Store is where forms and answers are.
	Store *store.Store
	// Wait lets calls wait for the answer; without it they are refused at once, and made again.
	Wait bool
	// Flags are what a command needs to find this state folder, as a person types them; empty is nothing. Clients are
	// told them.
	Flags string
	// Told is called for each new form of this process, on the goroutine of the call; nil is nobody.
	Told func(Form)
	// Logger hears of a store that fails; nil discards.
	Logger *slog.Logger
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Desk is where the calls of one process ask. It is safe for concurrent use.
type Desk struct{ opts Options }

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

// Command is what a person types to answer a form.
func (d *Desk) Command(f Form) string {
	return strings.TrimSpace("sallyport answer " + f.ID + " " + d.opts.Flags)
}

// Waits reports whether calls wait for answers.
func (d *Desk) Waits() bool { return d.opts.Wait }

// Ask puts a form, and returns it as it is kept: the same form is asked once, and not again while an answer is there
// to be taken. It is not asked if it is too long, or too many wait.
func (d *Desk) Ask(ctx context.Context, f Form) (kept Form, ok bool) {
	if len(f.Params) > MaxParams {
		return f, false
	}
	same, err := d.opts.Store.Labelled(ctx, store.Form, f.label())
	if err != nil {
		d.failed(err)
		return f, false
	}
	if len(same) > 0 {
		f.ID, f.Asked = same[0].ID, same[0].Created
		return f, true
	}
	if d.crowded(ctx, f) {
		return f, false
	}
	return d.put(ctx, f)
}

// crowded reports whether too many forms, or their answers, wait for one more.
func (d *Desk) crowded(ctx context.Context, f Form) bool {
	kept, err := d.opts.Store.Labelled(ctx, store.Form, "") // without what they ask, which may be long
	if err != nil {
		d.failed(err)
		return true
	}
	own, plugin := 0, f.plugin()
	for _, r := range kept {
		if r.Principal == f.Principal && strings.HasPrefix(r.Label, plugin) {
			own++
		}
	}
	return own >= maxFormsOfOne || len(kept) >= maxForms
}

func (d *Desk) put(ctx context.Context, f Form) (Form, bool) {
	data, err := json.Marshal(record{Plugin: f.Plugin, Digest: f.Digest, Params: string(f.Params)})
	if err != nil {
		d.failed(err)
		return f, false
	}
	kept, err := store.Record{}, store.ErrExists
	for errors.Is(err, store.ErrExists) {
		kept, err = d.opts.Store.Add(ctx, store.Form, store.Record{
			ID: strings.ToLower(rand.Text()[:idLength]), Principal: f.Principal, Label: f.label(), Data: data, Expires: d.opts.Now().Add(waitTime),
		})
	}
	if err != nil {
		d.failed(err)
		return f, false
	}
	f.ID, f.Asked = kept.ID, kept.Created
	if d.opts.Told != nil {
		d.opts.Told(f)
	}
	return f, true
}

// Take takes the answer to a form, an ElicitResult, if there is one. One caller has it, of all processes.
func (d *Desk) Take(ctx context.Context, f Form) (answer json.RawMessage, ok bool) {
	found, err := d.opts.Store.Labelled(ctx, store.Form, f.label())
	for _, r := range found {
		if r, err = d.opts.Store.Get(ctx, store.Form, r.ID); err != nil {
			continue // it expired just now
		}
		var kept record
		if json.Unmarshal(r.Data, &kept) != nil || kept.Answer == "" {
			continue
		}
		r.Data, r.Expires = nil, d.opts.Now() // what somebody typed is not kept longer than it is needed
		if _, err := d.opts.Store.Replace(ctx, store.Form, r); err == nil {
			return json.RawMessage(kept.Answer), true
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		d.failed(err)
	}
	return nil, false
}

// cancelled is the answer that nobody gave.
var cancelled = json.RawMessage(`{"action":"cancel"}`)

// Wait waits for the answer to a form that was asked. When ctx is done first, the form is withdrawn and the answer
// is that of somebody who went away.
func (d *Desk) Wait(ctx context.Context, f Form) json.RawMessage {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		if answer, ok := d.Take(ctx, f); ok {
			return answer
		}
		select {
		case <-ctx.Done():
			d.withdraw(context.WithoutCancel(ctx), f)
			return cancelled
		case <-tick.C:
		}
		if again, ok := d.Ask(ctx, f); ok { // it is there, unless another call has had its answer
			f = again
		}
	}
}

func (d *Desk) withdraw(ctx context.Context, f Form) {
	if err := d.opts.Store.Remove(ctx, store.Form, f.ID); err != nil {
		d.failed(err)
	}
}

func (d *Desk) failed(err error) {
	d.opts.Logger.Error("forms and answers cannot be reached", "error", err)
}
