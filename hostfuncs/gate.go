package hostfuncs

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Call is one request that a plugin serves.
type Call struct {
	ID        string // for logs and receipts
	Principal string // the caller
	Roles     identity.Roles
	Method    string // such as tools/call
	Tool      string // local name of the tool; empty for other methods
	Params    json.RawMessage
	Trace     trace.Context // of the caller; zero without one
	// Entry is the called tool, prompt or resource; it selects the lines that bind arguments or are limited to
	// entries. The zero value is none, as for lists and completion.
	Entry grant.Entry
	// Values returns the values of an argument; nil if the call has none.
	Values func(path []string) []string
	// Chain is the position of a nested call; nil for a client's call.
	Chain *Chain
	// DryRun holds back all lasting changes: files, keys and unsafe requests.
	DryRun bool
	// ReadOnly is set for a tool with readOnlyHint: all changes are denied.
	ReadOnly bool
	// Client is the caller; nil without one.
	Client Client
	// Journal holds the answers of earlier runs, or is a new one; nil if the call is never replayed. Calls of a
	// plugin that may ask the client nothing leave it untouched, unless the journal is persistent.
	Journal *journal.Journal
	// Trial is a recorded call whose run this is; nil for a call that is performed. A trial performs nothing outside of
	// the plugin: answers come from the recording.
	Trial *recording.Call
	// Settle takes the use of the call when it ends, see Policy.Begin; nil takes none.
	Settle func(usage.Amount)
	// Changed takes the plugin's notification that one of its lists or resources changed; nil refuses it.
	Changed func(method string, params json.RawMessage)
}

// Gate is the only way out of the sandbox for one call. It belongs to the guest's goroutine; Close, Denials,
// Receipt and Stderr may be called from any. Its methods are the host functions that belong to no single family, the
// one way of an effect (pass), and the records that are read after the call.
type Gate struct {
	policy   *Policy
	call     Call
	life     lifetime
	record   recorder
	session  session
	replay   replay
	rules    rules
	consents *consents // nil before the first effect
	intents  intents
	writes   writes
	traffic  traffic
	tape     *tape                  // nil if the call is not recorded
	probes   *probes                // its failed lookups; nil if the operator is not asked
	wasi     *wasi.State            // nil before its first use
	stderr   atomic.Pointer[output] // of the guest; nil before the first use of wasi
	program  *process               // set by Launch; nil if the guest is no program
}

var (
	_ runtime.Gate   = (*Gate)(nil)
	_ runtime.Rounds = (*Gate)(nil)
	_ wasi.Host      = (*Gate)(nil)
)

// NewGate opens the gate of one call. Close it when the call is over.
func (p *Policy) NewGate(c Call) *Gate {
	g := &Gate{policy: p, call: c}
	g.life.host = p.host
	g.record.begun = time.Now()
	g.session.host, g.session.call = p.host, &g.call
	g.replay.policy, g.replay.call, g.replay.life, g.replay.writes = p, &g.call, &g.life, &g.writes
	if p.asks || c.Journal != nil && c.Journal.Kept() {
		g.replay.journal = c.Journal
	}
	g.rules.policy, g.rules.call, g.rules.session, g.rules.replay = p, &g.call, &g.session, &g.replay
	g.rules.bind()
	g.intents.call, g.intents.replay = &g.call, &g.replay
	if above := c.Chain.caller(); above != nil {
		g.intents.above = &above.intents
	}
	g.writes.keys.policy, g.writes.keys.call = p, &g.call
	g.tape = newTape(&g.rules, g.replay.journal)
	g.replay.tape = g.tape
	g.traffic.limits = &p.limits[p.Class(g.rules.caller())]
	return g
}

// WASI returns the WASI state of the call, the same one each time: the plugin's name as argv[0], its configuration as
// environment, its granted files as "/", standard output and error kept for Stderr and the log.
func (g *Gate) WASI() *wasi.State {
	if g.wasi == nil {
		g.wasi = newState(g)
	}
	return g.wasi
}

func newState(g *Gate) *wasi.State {
	out := g.newOutputs()
	g.stderr.Store(&out.stderr)
	o := wasi.Options{
		Args: g.policy.args, Env: g.policy.env,
		Stdout: &out.stdout, Stderr: &out.stderr,
	}
	g.program.run(&o)
	if j := g.replay.journal; j != nil {
		o.Now, o.Monotonic, o.Sleep, o.Random = j.Now, j.Monotonic, j.Sleep, j
	}
	g.tape.settle(&o, g.replay.journal != nil)
	o.Climbed = func(folder, path string) {
		_ = g.deny(effect{family: "fs", act: "reach " + path + " from " + folder}, &refusal{reason: "a path does not leave the folder it starts in"})
	}
	g.policy.plugin.settle(&o)
	g.program.observe(&o)
	if o.Tree == nil {
		mount(g, &o)
	}
	g.guardStart(&o)
	s := wasi.NewState(o)
	g.life.onClose(func() {
		s.Close()
		out.flush()
	})
	return s
}

// Stderr returns the end of the guest's standard error.
func (g *Gate) Stderr() []byte {
	o := g.stderr.Load()
	if o == nil {
		return nil
	}
	return g.Redact(o.Tail())
}

// Close ends the call: it cancels pending requests, closes files, and later requests of the guest fail. It may be
// called repeatedly.
func (g *Gate) Close() {
	if g.life.end() {
		finish(g)
	}
	g.life.release()
}
