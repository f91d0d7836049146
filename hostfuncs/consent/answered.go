package consent

import (
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
	Answer    string    // allow, deny, revoke, carry (to a new digest), or approve and reject (of a plugin's bytes)
	ID        string    // ID of the question; empty if there was none
	Plugin    string    // plugin name
	Digest    string    // digest of the plugin's bytes
	Principal string    // caller that it applies to; empty for all
	What      string    // the allowed line, or the denied effect
	Once      bool      // valid for one effect
	Until     time.Time // expiry; zero is never
}

// Members returns the answer as members of an audit log line, without braces.
func (a Answered) Members() []byte {
	b := []byte(`"event":"answer"`)
	for _, m := range [][2]string{
		{"by", a.By}, {"answer", a.Answer}, {"question", a.ID}, {"plugin", a.Plugin}, {"digest", a.Digest}, {"principal", a.Principal}, {"what", a.What},
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
