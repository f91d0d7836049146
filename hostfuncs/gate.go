package hostfuncs

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Client is the running call's connection to its caller. Its methods return at once, and are called from the guest's
// goroutine only, never after the gate is closed. Params are the guest's own.
type Client interface {
	// Progress forwards a progress notification. The gate forwards increasing values only.
	Progress(ctx context.Context, params json.RawMessage)
	// Message forwards a log message, with one of MCP's levels.
	Message(ctx context.Context, params json.RawMessage)
}

// DenialListener is implemented by a Client that takes each denial when it happens.
type DenialListener interface {
	Denied(*runtime.AskError)
}

// Call is one request that a plugin serves.
type Call struct {
	ID        string // for logs and receipts
	Principal string // the caller
	Method    string // such as tools/call
	Tool      string // local name of the tool; empty for other methods
	Params    json.RawMessage
	Trace     trace.Context // of the caller; zero without one
	// Entry is the called tool, prompt or resource; it selects the lines that bind arguments or are limited to
	// entries. The zero value is none, as for lists and completion.
	Entry grant.Entry
	// Values returns the values of an argument; nil if the call has none.
	Values func(path []string) []string
	// DryRun holds back all lasting changes: files, keys and unsafe requests.
	DryRun bool
	// Chain is the position of a nested call; nil for a client's call.
	Chain *Chain
	// ReadOnly is set for a tool with readOnlyHint: all changes are denied.
	ReadOnly bool
	// Client is the caller; nil without one.
	Client Client
	// Journal holds the answers of earlier runs, or is a new one; nil if the call is never replayed. Calls of a
	// plugin that may ask the client nothing leave it untouched, unless the journal is persistent.
	Journal *journal.Journal
	// Changed takes the plugin's notification that one of its lists or resources changed; nil refuses it.
	Changed func(method string, params json.RawMessage)
}

// Gate is the only way out of the sandbox for one call. It belongs to the guest's goroutine; Close, Denials and
// Receipt may be called from any.
type Gate struct {
	policy *Policy
	call   Call
	grants *grant.Set // bound to this call
	stderr output
	stdout output
	// journal is the call's journal, nil if the plugin cannot ask.
	journal *journal.Journal
	// ended is the error that ended the call while its guest ran, nil for none. Only the guest's goroutine uses it.
	ended error
	// changes are the changes begun by the call and its nested calls. Only the guest's goroutine uses it.
	changes []string
	begun   time.Time
	wasi    func() *wasi.State // nil before its first use

	sent, received atomic.Int64 // bytes of requests and answers, counted for limits

	over atomic.Bool // the call is over

	mu       sync.Mutex
	closed   bool
	stop     context.Context // done when the call is over; nil before its first use
	cancel   context.CancelFunc
	closers  []func()         // clean-up of the WASI state
	files    *overlay.Overlay // its pending writes; nil before the WASI state is made
	probes   *probes          // its failed lookups; nil if the operator is not asked
	kept     pending          // its pending keys
	landed   int              // number of files and folders that its commit changed
	inner    []*Gate          // nested calls, committed with this one
	outcome  string
	removed  int           // characters removed from its output
	hidden   int           // such characters left in its data
	held     receipt.Would // requests held back in a dry run
	record   receipt.Record
	usage    runtime.Usage
	nested   []receipt.Receipt // of nested calls
	logged   int               // bytes of log messages
	progress float64
	moved    bool // progress is set
	sampled  sampled
	consents consents
	traced   traced
}

var (
	_ runtime.Gate = (*Gate)(nil)
	_ wasi.Host    = (*Gate)(nil)
)

// NewGate opens the gate of one call. Close it when the call is over.
func (p *Policy) NewGate(c Call) *Gate {
	g := &Gate{policy: p, call: c, begun: time.Now(), grants: c.Chain.bound(p.bind(c))}
	if p.asks || c.Journal != nil && c.Journal.Kept() {
		g.journal = c.Journal
	}
	g.stderr, g.stdout = output{gate: g, name: "stderr"}, output{gate: g, name: "stdout"}
	return g
}

// until returns a context that is done when the call is over or the host is closed.
func (g *Gate) until() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stop == nil {
		g.stop, g.cancel = context.WithCancel(g.policy.host.stop)
		if g.over.Load() {
			g.cancel()
		}
	}
	return g.stop
}

// count adds to the receipt.
func (g *Gate) count(family, target string, times int, sent, received int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.record.Count(family, target, times, sent, received)
}

// uncount removes an effect that did not happen from the receipt.
func (g *Gate) uncount(family, target string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.record.Uncount(family, target)
}

// Denials returns the denials so far, in order, without duplicates.
func (g *Gate) Denials() []receipt.Denial {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.record.Denials()
}

// Receipt returns the effects of the call so far.
func (g *Gate) Receipt() receipt.Receipt {
	g.mu.Lock()
	defer g.mu.Unlock()
	tried := g.tried()
	return receipt.Receipt{
		Call: g.call.ID, Plugin: g.policy.plugin.Name, Digest: g.policy.plugin.Digest, Updates: g.policy.plugin.Updates, Calls: slices.Clone(g.nested),
		Effects: g.record.Effects(), Denials: g.record.Denials(),
		Fuel: g.usage.Fuel, Memory: g.usage.Memory,
		Learnt: g.record.Learnt(), Outcome: g.outcome, Landed: g.landed, Removed: g.removed, Hidden: g.hidden, Would: tried.List, WouldCounts: tried.Counts,
	}
}

// WASI returns the WASI state of the call, the same one each time: the plugin's name as argv[0], its configuration as
// environment, its granted files as "/", standard output and error kept for Stderr and the log.
func (g *Gate) WASI() *wasi.State {
	if g.wasi == nil {
		g.wasi = sync.OnceValue(g.newState)
	}
	return g.wasi()
}

func (g *Gate) newState() *wasi.State {
	o := wasi.Options{
		Args: []string{g.policy.plugin.Name}, Env: g.policy.env,
		Stdout: &g.stdout, Stderr: &g.stderr,
	}
	if j := g.journal; j != nil {
		o.Now, o.Monotonic, o.Sleep, o.Random = j.Now, j.Monotonic, j.Sleep, j
	}
	o.Climbed = func(folder, path string) {
		_ = g.deny(effect{family: "fs", act: "reach " + path + " from " + folder}, &refusal{reason: "a path does not leave the folder it starts in"})
	}
	g.settle(&o)
	g.mountFiles(&o)
	s := wasi.NewState(o)
	g.onClose(s.Close)
	return s
}

// onClose runs f when the gate closes, or at once if it is closed.
func (g *Gate) onClose(f func()) {
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.closers = append(g.closers, f)
	}
	g.mu.Unlock()
	if closed {
		f()
	}
}

// Stderr returns the end of the guest's standard error.
func (g *Gate) Stderr() []byte { return g.Redact(g.stderr.Tail()) }

// Close ends the call: it cancels pending requests, closes files, and later requests of the guest fail. It may be
// called repeatedly.
func (g *Gate) Close() {
	g.over.Store(true)
	g.mu.Lock()
	over := g.closed
	if g.cancel != nil {
		g.cancel()
	}
	g.mu.Unlock()
	if !over {
		g.finish()
	}
	g.mu.Lock()
	closers := g.closers
	g.closers, g.closed = nil, true
	g.mu.Unlock()
	for _, f := range slices.Backward(closers) {
		f()
	}
	g.stdout.flush()
	g.stderr.flush()
}
