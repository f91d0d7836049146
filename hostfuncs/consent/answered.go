package consent

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Ways of answering.
const (
	ByTerminal = "terminal" // a command
	ByConsole  = "console"  // the console page
)

// Answered is an answer as it is recorded in the audit log.
type Answered struct {
	By        string    // ByTerminal or ByConsole
	Answer    string    // allow, deny, revoke or carry (to a new digest); approve or reject (a plugin's bytes); add, grant or remove; to a form, its action
	ID        string    // ID of the question; empty if there was none
	Plugin    string    // plugin name
	Digest    string    // digest of the plugin's bytes
	Principal string    // caller that it applies to; empty for all
	What      string    // the subject, such as the allowed line or the denied effect
	Once      bool      // valid for one effect
	Until     time.Time // expiry; zero is never
	Event     string    // Intent or Failed; empty for an answer that is in effect
	Change    string    // ID that a line of the intent and that of the outcome share; empty for an answer without an intent
}

// Events of a change that is recorded before it begins.
const (
	Intent = "intent" // it is about to begin
	Failed = "failed" // it ended with an error
)

// Change makes a change that consists of answers: their intents are recorded before it, and the answers, or the failure,
// after it. Without a record of the intents nothing is changed. An intent without an outcome is a change that runs, or that
// was interrupted.
func Change(note func(Answered) error, change func() error, answers ...Answered) error {
	answers = slices.Clone(answers)
	for i := range answers {
		answers[i].Change, answers[i].Event = rand.Text(), Intent
		if err := note(answers[i]); err != nil {
			return fmt.Errorf("nothing was changed, since the audit log cannot record it: %w", err)
		}
	}
	event, err := "", change()
	if err != nil {
		event = Failed
	}
	for _, a := range answers {
		a.Event = event
		if unnoted := note(a); unnoted != nil {
			err = errors.Join(err, fmt.Errorf("the audit log has the intent of this change, and not its outcome: %w", unnoted))
		}
	}
	return err
}

// Members returns the answer as members of an audit log line, without braces.
func (a Answered) Members() []byte {
	b := jsonraw.AppendString([]byte(`"event":`), cmp.Or(a.Event, "answer"))
	for _, m := range [][2]string{
		{"change", a.Change}, {"by", a.By}, {"answer", a.Answer}, {"question", a.ID}, {"plugin", a.Plugin}, {"digest", a.Digest}, {"principal", a.Principal}, {"what", a.What},
	} {
		if m[1] != "" {
			b = jsonraw.AppendString(append(b, `,"`+m[0]+`":`...), m[1])
		}
	}
	if a.Once {
		b = append(b, `,"once":true`...)
	}
	if !a.Until.IsZero() {
		b = jsonraw.AppendString(append(b, `,"until":`...), a.Until.UTC().Format(time.RFC3339))
	}
	return b
}
