package catalogue

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/journal"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Client is what a running call can reach of its caller.
type Client = hostfuncs.Client

// Call is one request of a client.
type Call struct {
	ID        string          // names the call in logs; empty makes one
	Principal string          // whose call it is
	Session   string          // whose kept instance serves it, under runtime.StateSession; empty is an instance of its own
	Params    json.RawMessage // as the client sent it, with public names; nil is {}
	Client    Client          // nil: nobody listens
	// Check looks at the answer before anything that the call wrote is made to last; an error ends the call.
	// Nil takes any answer, and one with isError for a failure.
	Check func(answer json.RawMessage) (Verdict, error)
	// Chain is what stands above a call that another call makes; nil if a client makes it.
	Chain *hostfuncs.Chain
	// DryRun holds back whatever would last.
	DryRun bool
	// ReadOnly lets nothing be changed, whatever the tool says of itself: a call that made this one may not.
	ReadOnly bool
	// Journal is what the plugin was answered when this call ran before, or a new one; nil if the call is
	// never run again. One that was kept under another digest or other grants is refused with
	// journal.ErrOther.
	Journal *journal.Journal
	// Patient has the call wait for its turn however many wait before it.
	Patient bool
}

// Verdict is what became of an answer that was looked at.
type Verdict struct {
	Failed  bool // the tool says that it failed: what it wrote is dropped
	Removed int  // characters that were cleaned out of it
	Hidden  int  // characters of that kind in its data, which stay
}

// Request is a call after its name was turned into the plugin's own.
type Request struct {
	ReadOnly bool // a tool says so of itself, and is held to it
	Method   string
	Kind     manifest.Kind
	Entry    string // what must still be published: a local name, a URI or a template
	URI      string // what a template was matched with; "" elsewhere
	Params   json.RawMessage
	Values   func(path []string) []string // of the arguments; nil: there are none
}

// What names the entry for the caller.
func (r Request) What() string {
	if r.URI != "" {
		return r.URI
	}
	return fmt.Sprintf("the %s %q", r.Kind, r.Entry)
}

// Server answers the requests of one plugin. Two servers that are equal are the same version of it.
type Server interface {
	// Serve runs one request and returns the result as the plugin wrote it. It is safe for concurrent use. What the
	// request names may be published no longer.
	Serve(ctx context.Context, c Call, r Request) (json.RawMessage, error)
	// Keeps reports whether a call of a session finds what earlier ones left in the plugin, so that it cannot be run
	// again as if it were new.
	Keeps(session string) bool
	// Limit is how many bytes of an answer go to the caller at once; 0 is no bound.
	Limit() int
	// Digest is that of the plugin's bytes; empty for a plugin of this process.
	Digest() string
	// Terms tell the plugin under its grants and its configuration from every other.
	Terms() []byte
}
