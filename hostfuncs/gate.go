package hostfuncs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// method is what serves one thing a guest asks for.
type method func(g *Gate, ctx context.Context, params json.RawMessage, s runtime.Streams) (json.RawMessage, error)

// methods is the table of all that a guest may ask for.
func methods() map[string]method {
	m := map[string]method{
		"notifications/message":                (*Gate).message,
		"notifications/progress":               (*Gate).progressed,
		"notifications/tools/list_changed":     changed("notifications/tools/list_changed"),
		"notifications/prompts/list_changed":   changed("notifications/prompts/list_changed"),
		"notifications/resources/list_changed": changed("notifications/resources/list_changed"),
		"notifications/resources/updated":      changed("notifications/resources/updated"),
		"client/release":                       (*Gate).release,
		"http/fetch":                           (*Gate).fetch,
		"tools/call":                           (*Gate).callTool,
		"secrets/list":                         (*Gate).listSecrets,
		"secrets/get":                          (*Gate).revealSecret,
	}
	for name := range questions() {
		m[name] = asked(name)
	}
	maps.Copy(m, keyMethods())
	return m
}

// maxMethod bounds the part of an unknown method that an error repeats.
const maxMethod = 64

// Ask performs what the guest asked for. The error is an *AskError, or an *EndError that ends the call.
// A body that the answer opens as a stream lives as long as ctx.
func (g *Gate) Ask(ctx context.Context, name string, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	serve := g.policy.host.methods[name]
	if serve == nil {
		return nil, askErrorf(runtime.KindUnsupported, "this host has no method %q", cut(name, maxMethod))
	}
	result, err := g.journaled(ctx, name, params, s, serve)
	var end *runtime.EndError
	if err != nil && !errors.As(err, &end) {
		ask := asAskError(err)
		if l, ok := g.call.Client.(RetryListener); ok && ask.RetryAfterMs > 0 {
			l.RetryAfter(ask.RetryAfterMs)
		}
		return nil, ask
	}
	return result, err
}

// effect is one thing that a guest wants to happen.
type effect struct {
	family string
	// act says what it is in the words of a grant, for refusals: "GET https://a.example/x".
	act string
	// target is what the receipt counts it under.
	target string
	// decide asks the grants; nil if the effect is given to every plugin.
	decide func(*grant.Set) grant.Decision
	// propose is the line that is learnt, with the arguments that bound knows; nil takes what decide suggests.
	propose func(bound func(text string) (binding string, ok bool)) string
	// near adds to the reason of a refusal why a line that looks as if it allowed the effect does not; nil
	// adds nothing.
	near func(grant.Decision) string
	// forbid is a reason that no grant lifts, asked first; nil if there is none.
	forbid func() string
	// body is what a request sends, which a question is about too; nil if the effect has none.
	body func() ([]byte, error)
	// inside reports, for net, whether the address itself says that it is of this machine or its network; a name
	// does not, wherever it leads, and so nobody who allows it means that. Nil: the effect has no address.
	inside func() bool
	// reach is a refusal that a decision leaves: for net, of an address that the line which allows it does not name.
	// Nil: there is none.
	reach func(d grant.Decision) *refusal
	// leaves says that do itself counts the effect, when it leaves this machine: one that never does is none.
	leaves bool
	// do makes it happen. It is nil if that follows at once elsewhere. A *refusal counts as a denial.
	do func(ctx context.Context, d grant.Decision) error
}

// refusal is an error of an effect that turned out not to be allowed.
type refusal struct {
	reason string // follows the act and a colon
	hint   string
	final  bool          // nobody can allow it
	kind   runtime.Kind  // what the guest is told; empty is runtime.KindDenied
	later  time.Duration // when it may be otherwise; zero is not known
}

// Error returns the reason.
func (r *refusal) Error() string { return r.reason }

// pass is the one way from a guest to an effect: it is checked, then recorded, then done.
func (g *Gate) pass(ctx context.Context, e effect) error {
	if err := g.alive(ctx); err != nil {
		return err
	}
	d, refused := g.check(ctx, e)
	if refused == nil {
		refused = g.spend(ctx, d)
	} else {
		d, refused = g.consult(ctx, e, d, refused)
	}
	if refused != nil {
		g.learn(e, false)
		return g.deny(e, refused)
	}
	if !e.leaves {
		g.count(e.family, e.target, 1, 0, 0)
	}
	if e.do == nil {
		g.learn(e, true)
		return nil
	}
	err := e.do(ctx, d)
	g.learn(e, !errors.As(err, &refused))
	if refused != nil {
		return g.deny(e, refused)
	}
	return err
}

// alive refuses what comes when the call is over.
func (g *Gate) alive(ctx context.Context) error {
	if g.over.Load() || g.policy.host.stop.Err() != nil {
		return askErrorf(runtime.KindUnavailable, "the call is over")
	}
	return over(ctx)
}

// over says how the call of ctx ended, nil if it goes on.
func over(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return askErrorf(runtime.KindTimeout, "the time of the call is over")
	}
	return askErrorf(runtime.KindUnavailable, "the call is over")
}

// check asks the policy.
func (g *Gate) check(ctx context.Context, e effect) (grant.Decision, *refusal) {
	if e.forbid != nil {
		if reason := e.forbid(); reason != "" {
			return grant.Decision{}, &refusal{reason: reason, final: true}
		}
	}
	if e.decide == nil {
		return grant.Decision{Allowed: true}, nil
	}
	d := e.decide(g.grants)
	if !d.Allowed && d.Grant == nil && g.askRoots(e.family) {
		d = e.decide(g.grants)
	}
	if d.Allowed {
		return d, g.beyond(e, d)
	}
	reason := reasonOf(d) + g.unfilled(e, d)
	if e.near != nil {
		reason += e.near(d)
	}
	return d, &refusal{reason: reason, hint: g.suggested(e, d)}
}

// suggested is the line that would allow an effect that is refused; empty if none would, or if it leads where nobody
// should go by a suggestion: to the metadata of a cloud, for one.
func (g *Gate) suggested(e effect, d grant.Decision) string {
	if no := g.beyond(e, grant.Decision{}); no != nil && no.hint == "" {
		return ""
	}
	return d.Suggest
}

// beyond is what an effect that a line allows is refused for all the same, nil if it is not.
func (g *Gate) beyond(e effect, d grant.Decision) *refusal {
	if e.reach == nil {
		return nil
	}
	return e.reach(d)
}

func reasonOf(d grant.Decision) string {
	switch {
	case d.Beyond:
		return "max_grants does not reach it"
	case d.SpellOut:
		return "no grant spells it out"
	case d.Grant == nil:
		return "no grant allows it"
	case d.Ask:
		return lineOf(d.Grant) + " asks for a confirmation"
	}
	return lineOf(d.Grant) + " denies it"
}

func lineOf(g *grant.Grant) string {
	if g.Line == 0 {
		return "a grant"
	}
	return fmt.Sprintf("line %d", g.Line)
}

// deny records a refusal and makes the error of it.
func (g *Gate) deny(e effect, r *refusal) error {
	act := g.redact(cut(printable(e.act), maxAct))
	err := askErrorf(cmp.Or(r.kind, runtime.KindDenied), "plugin %q may not %s: %s", g.policy.plugin.Name, act, r.reason)
	err.Hint, err.RetryAfterMs = r.hint, r.later.Milliseconds()
	g.mu.Lock()
	first := g.record.Deny(receipt.Denial{Family: e.family, Effect: act, Reason: err.Message, Hint: r.hint})
	g.mu.Unlock()
	if first {
		g.policy.host.logger.Info("denied", "plugin", g.policy.plugin.Name, "call", g.call.ID,
			"effect", act, "reason", r.reason, "hint", r.hint)
	}
	if l, ok := g.call.Client.(DenialListener); ok {
		l.Denied(err)
	}
	return err
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
