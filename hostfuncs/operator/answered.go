package operator

import (
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// The ways in which a person answers.
const (
	ByTerminal = "terminal" // that of a command
	ByConsole  = "console"  // the page
)

// Answered is an answer as the audit log keeps it.
type Answered struct {
	By        string    // ByTerminal, ByConsole
	Answer    string    // allow, deny, revoke, carry to new bytes; approve and reject of a plugin's bytes
	ID        string    // the question's; empty if there was none
	Plugin    string    // its name
	Digest    string    // the bytes that the answer is for
	Principal string    // whose calls it is for; empty is everybody's
	What      string    // the line that was allowed, or the effect that was refused
	Once      bool      // for one effect
	Until     time.Time // when it ends; zero is never
}

// Members writes the answer as the members of a line of the audit log, without braces.
func (a Answered) Members() []byte {
	b := []byte(`"event":"answer"`)
	for _, m := range [][2]string{
		{"by", a.By}, {"answer", a.Answer}, {"question", a.ID}, {"plugin", a.Plugin}, {"digest", a.Digest}, {"principal", a.Principal}, {"what", a.What},
	} {
		if m[1] != "" {
			b = rawjson.AppendString(append(b, `,"`+m[0]+`":`...), m[1])
		}
	}
	if a.Once {
		b = append(b, `,"once":true`...)
	}
	if !a.Until.IsZero() {
		b = rawjson.AppendString(append(b, `,"until":`...), a.Until.UTC().Format(time.RFC3339))
	}
	return b
}
