package hostfuncs

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Client is the caller, as far as a running call can reach it. Its methods return at once and may be
// called from the guest's goroutine only, never after the gate is closed. Params are the guest's own.
type Client interface {
	// Progress passes a progress notification on. The gate lets only growing values through.
	Progress(ctx context.Context, params json.RawMessage)
	// Message passes a log message on. Its level is one of MCP's.
	Message(ctx context.Context, params json.RawMessage)
}

// DenialListener is met by a Client that wants to know of each refusal when it happens.
type DenialListener interface {
	Denied(*runtime.AskError)
}

// Call is one request that a plugin serves.
type Call struct {
	ID        string // in logs and receipts
	Principal string // whose call it is
	Method    string // such as tools/call
	Tool      string // its local name, if it is a tool's
	Params    json.RawMessage
	// Entry is what is called; lines that bind arguments, or are for some entries only, apply by it. The zero
	// value is none, as for lists and completion.
	Entry grant.Entry
	// Values returns the values of an argument; nil if the call has none.
	Values func(path []string) []string
	// DryRun holds back whatever would last: files, keys and requests that are not safe.
	DryRun bool
	// Chain is what stands above a call that another call makes; nil if a client makes it.
	Chain *Chain
	// ReadOnly says that the tool says of itself that it changes nothing: nothing that would is allowed.
	ReadOnly bool
	// Client is who called; nil if nobody listens.
	Client Client
	// Journal is what the call was answered when it ran before, or a new one; nil if it is never run
	// again. A plugin that may ask nothing of the client leaves it as it is, unless it is kept while the call runs.
	Journal *journal.Journal
	// Changed takes the plugin's notice that one of its lists, or what one of its resources holds, is
	// another now; nil refuses it.
	Changed func(method string, params json.RawMessage)
}

// Gate is the one way of one call to everything outside its sandbox. The guest's goroutine uses it, and
// Close, Denials and Receipt may be called from any.
type Gate struct {
	policy *Policy
	call   Call
	grants *grant.Set // as they hold for this call
	stderr output
	stdout output
	// journal is that of the call, nil if the plugin cannot ask.
	journal *journal.Journal
	// ended is what ended the call while its guest ran, nil if nothing has. The guest's goroutine uses it.
	ended error
	// changes are what the call and those within it have begun to change. The guest's goroutine uses it.
	changes []string
	begun   time.Time
	wasi    func() *wasi.State // nil before it was asked for

	sent, received atomic.Int64 // bytes of requests and answers, where they are limited

	over atomic.Bool // the call is

	mu       sync.Mutex
	closed   bool
	stop     context.Context // done when the call is over; nil before somebody wants to know
	cancel   context.CancelFunc
	closers  []func()         // what a WASI state needs closed
	files    *overlay.Overlay // what it writes; nil before it asked for files
	probes   *probes          // what it looked for in vain; nil if nobody is asked
	kept     pending          // keys that it changes
	landed   int              // how many of its writes last
	inner    []*Gate          // calls that it made, whose writes land with its own
	outcome  string
	removed  int           // characters cleaned out of its answer
	hidden   int           // characters of that kind that stay in its data
	held     receipt.Would // requests that were held back
	record   receipt.Record
	usage    runtime.Usage
	nested   []receipt.Receipt // of calls that this one made
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

// until returns a context that is done when the call is over, or the host is closed.
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

// uncount takes an effect out of the receipt that did not happen after all.
func (g *Gate) uncount(family, target string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.record.Uncount(family, target)
}

// Denials returns the refusals so far, in the order they came; equal ones are one.
func (g *Gate) Denials() []receipt.Denial {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.record.Denials()
}

// Receipt returns what the call did so far.
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

// WASI returns the WASI state of the call, the same one each time: the plugin's name as argv[0], its
// configuration as environment, its granted files as "/", standard output and error kept for Stderr
// and the log.
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

// onClose runs f when the gate closes, at once if it is closed.
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

// Stderr returns the end of what the guest wrote to its standard error.
func (g *Gate) Stderr() []byte { return g.Redact(g.stderr.Tail()) }

// Close ends the call: requests under way are cancelled, files closed, and whatever the guest still
// asks for is refused. It may be called again.
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
