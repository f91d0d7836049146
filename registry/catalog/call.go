package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Client is the calling client, as a running call can reach it.
type Client = hostfuncs.Client

// Call is one request of a client.
type Call struct {
	ID        string          // identifies the call in logs; empty generates one
	Principal string          // the calling principal
	Roles     identity.Roles  // its groups and scopes, for the operator's rules
	Session   string          // its kept instance serves the call under runtime.StateSession; empty uses a separate instance
	Params    json.RawMessage // as the client sent it, with public names; nil is {}
	Trace     trace.Context   // the client's position in a trace, which Params hold too; zero without one
	Timeout   time.Duration   // the client's limit for the run, in addition to the plugin's own; 0 is none
	Client    Client          // nil if there is no client to ask or notify
	// Chain holds the calls above a nested call; nil for a call by a client.
	Chain *hostfuncs.Chain
	// DryRun holds back all lasting effects.
	DryRun bool
	// ReadOnly denies all changes, even to a tool without readOnlyHint: the calling tool is read-only.
	ReadOnly bool
	// Journal records the host's answers for a replay of this call, or replays them; nil if the call is never replayed.
	// A journal recorded under a different digest or different grants is refused with journal.ErrOther.
	Journal *journal.Journal
	// Settle takes the use of the call for the quotas of its caller. The plugin's server sets it.
	Settle func(usage.Amount)
	// Patient has the call wait for its turn however long the queue is.
	Patient bool
}

// Caller returns the identity of the caller.
func (c *Call) Caller() identity.Identity { return identity.Of(c.Principal, c.Roles) }

// Verdict is the caller's judgement of an answer.
type Verdict struct {
	Failed  bool // the tool reported a failure: its writes are dropped
	Removed int  // characters removed from the answer
	Hidden  int  // characters of that kind in its data, left in place
}

// Request is a call with the plugin's local name in place of the public one.
type Request struct {
	ReadOnly bool // the tool declares readOnlyHint, which is enforced
	Method   string
	Kind     manifest.Kind
	Entry    string // must still be published: a local name, a URI or a template
	URI      string // the URI matched by a template; "" otherwise
	Params   json.RawMessage
	Values   func(path []string) []string // looks up argument values; nil if there are none
}

// What returns the description of the entry for messages to the caller.
func (r Request) What() string {
	if r.URI != "" {
		return r.URI
	}
	return fmt.Sprintf("the %s %q", r.Kind, r.Entry)
}

// Run is a call that its plugin has answered. Its writes are uncommitted and its gate is open until Commit or Abort. It
// is not safe for concurrent use.
type Run interface {
	// Answer returns the plugin's result, unchanged.
	Answer() json.RawMessage
	// Commit ends the call. It commits the writes of a success, all or none, and drops those of a failure. The
	// error is that of the commit, or of an answer over the plugin's limit, which leaves no writes.
	Commit(Verdict) error
	// Abort ends the call, drops its writes and returns the reason as a *Failure; nil records none. A call that has
	// ended stays as it is, so that Abort can be deferred.
	Abort(reason error) error
}

// Server answers the requests of one plugin. Equal servers are the same version of it.
type Server interface {
	// Run runs one request. The caller ends the Run by Commit or Abort. It is safe for concurrent use. The requested
	// entry may have been unpublished since the Snapshot was taken.
	Run(ctx context.Context, c Call, r Request) (Run, error)
	// Keeps reports whether a call of a session sees plugin state from earlier calls, so that it cannot be rerun as if
	// it were the first.
	Keeps(session string) bool
	// Limit returns the largest answer sent to a caller at once, in bytes, and the setting that sets it; 0 is no limit.
	Limit(caller identity.Identity) (bytes int, setting string)
	// Digest returns the digest of the plugin file; empty for a plugin built into this process.
	Digest() string
	// Terms returns a value that is unique to the plugin, its grants and its configuration.
	Terms() []byte
}
