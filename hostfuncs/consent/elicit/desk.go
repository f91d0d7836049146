package elicit

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

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

const (
	// MaxParams bounds the params of a form, in bytes: one for a person, with choices.
	MaxParams = 16 << 10
	// maxForms and maxFormsOfOne bound the stored forms, including answered ones that are not taken yet, in total and
	// per plugin and caller.
	maxForms      = 200
	maxFormsOfOne = 20
	// lookAgain is the interval at which a waiting call polls the store.
	lookAgain = 250 * time.Millisecond
	// waitTime is the lifetime of an unanswered form: longer than a weekend.
	waitTime = 72 * time.Hour
	// keepTime is how long an answer is kept for the call to be repeated.
	keepTime = time.Hour
	// idLength is the length of a form's ID in characters: 40 bits, short enough to type.
	idLength = 8
)

// Form is an elicitation by a plugin.
type Form struct {
	ID        string // set by Ask
	Plugin    string
	Digest    string // digest of the plugin's bytes
	Principal string // caller of the tool
	Params    json.RawMessage
	Asked     time.Time // set by Ask
}

// record is the stored encoding of a form. JSON is held as text, to preserve its bytes.
type record struct {
	Plugin, Digest string
	Params         string
	Answer         string `json:",omitempty"` // an ElicitResult; empty while pending
}

// label identifies equal forms, and has a common prefix per plugin.
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
	// Store holds forms and answers.
	Store *store.Store
	// Wait lets calls wait for the answer. Without it they are denied at once, and must be repeated.
	Wait bool
	// Flags are the command-line flags that select this state folder, or empty. They are shown to clients.
	Flags string
	// Told is called for each new form of this process, on the goroutine of the call. It may be nil.
	Told func(Form)
	// Logger receives store failures; nil discards them.
	Logger *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Desk submits the forms of one process and waits for their answers. It is safe for concurrent use.
type Desk struct{ opts Options }

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

// Command returns the command line that answers a form.
func (d *Desk) Command(f Form) string {
	return strings.TrimSpace("sallyport answer " + f.ID + " " + d.opts.Flags)
}

// Waits reports whether calls wait for answers.
func (d *Desk) Waits() bool { return d.opts.Wait }

// Ask stores a form and returns it as stored. It is idempotent: an equal form that is pending, or has an answer to be
// taken, is returned instead. ok is false if the form is too long, too many are stored, or the store fails.
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

// crowded reports whether a bound on the stored forms is reached.
func (d *Desk) crowded(ctx context.Context, f Form) bool {
	kept, err := d.opts.Store.Labelled(ctx, store.Form, "") // without their params, which may be long
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

// Take removes and returns the answer to a form, an ElicitResult, if there is one. Only one caller in all processes
// receives it.
func (d *Desk) Take(ctx context.Context, f Form) (answer json.RawMessage, ok bool) {
	found, err := d.opts.Store.Labelled(ctx, store.Form, f.label())
	for _, r := range found {
		if r, err = d.opts.Store.Get(ctx, store.Form, r.ID); err != nil {
			continue // just expired
		}
		var kept record
		if json.Unmarshal(r.Data, &kept) != nil || kept.Answer == "" {
			continue
		}
		r.Data, r.Expires = nil, d.opts.Now() // typed data is erased as soon as it is delivered
		if _, err := d.opts.Store.Replace(ctx, store.Form, r); err == nil {
			return json.RawMessage(kept.Answer), true
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		d.failed(err)
	}
	return nil, false
}

// cancelled is the ElicitResult of an unanswered form.
var cancelled = json.RawMessage(`{"action":"cancel"}`)

// Wait waits for the answer to a form. If ctx ends first, the form is withdrawn and the answer is a cancellation.
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
		if again, ok := d.Ask(ctx, f); ok { // still pending, or recreated because another call took its answer
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
