package serving

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/module"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Options make a Generation.
type Options struct {
	// Publish decides what it publishes; Chosen and Server are the generation's own.
	Publish catalogue.Plugin
	// Module is what answers, and Code if it is nil. The generation has a claim on it until it is drained.
	Module *module.Module
	Code   Func
	// Policy makes the gates of the calls; draining closes it.
	Policy *hostfuncs.Policy
	// Admit is asked before the first call, and again until it lets one in; nil lets all in.
	Admit  func(ctx context.Context) error
	Limits runtime.Limits // of a module; zero fields are the engine's defaults
	State  runtime.State  // how long an instance lives; "" is what the plugin asks for, if it may have that
}

// Generation is one version of one plugin: what it publishes and a server, under one configuration. Calls hold it; when
// it is retired it is closed after the last of them. It is safe for concurrent use.
type Generation struct {
	plugin  *Plugin
	publish catalogue.Plugin
	module  *module.Module // nil for code
	state   runtime.State
	policy  *hostfuncs.Policy
	output  int // bytes of an answer that go to the caller at once; 0 is no bound
	server  server

	admit    func(ctx context.Context) error
	admitted atomic.Bool // admit was asked, and let a call in

	offer atomic.Pointer[catalogue.Offer] // replaced when the plugin shows or hides some

	mu      sync.Mutex
	chosen  *catalogue.Choices // what the plugin asked to show, and to whom
	calls   int
	retired bool
	idle    chan struct{} // closed when retired and no call is left
}

var _ catalogue.Server = (*Generation)(nil)

// server runs the requests of one generation.
type server interface {
	// serve runs one request. It is safe for concurrent use and is not called after close.
	serve(ctx context.Context, c catalogue.Call, r catalogue.Request, changed changedFunc) (json.RawMessage, error)
	// close gives back what the server holds. No call is in progress. It returns when ctx is done.
	close(ctx context.Context) error
}

// maxAnswer is how long an answer a plugin may give, in bytes. What of it is more than its output limit does
// not go to the caller at once, but is kept to be read in pages.
const maxAnswer = 8 << 20

// reloadWait bounds how long a call waits for a file that was replaced before its first use.
const reloadWait = 5 * time.Second

// New returns a generation of a plugin, which serves calls once Replace has it.
func New(p *Plugin, o Options) *Generation {
	g := &Generation{plugin: p, publish: o.Publish, module: o.Module, policy: o.Policy, admit: o.Admit, state: o.State, idle: make(chan struct{})}
	if o.Module == nil {
		g.server = &codeServer{call: o.Code, policy: o.Policy}
	} else {
		g.state = stateOf(o.Module, o.State)
		g.output = cmp.Or(o.Limits.Output, runtime.DefaultOutput)
		o.Limits.Output = max(g.output, maxAnswer)
		g.server = newModuleServer(o.Module, o.Policy, o.Limits, g.state)
	}
	g.Publish()
	return g
}

// Publish decides anew what the generation publishes, if the plugin has chosen what it shows since that was decided.
func (g *Generation) Publish() {
	g.mu.Lock()
	chosen := g.chosen
	g.mu.Unlock()
	if before := g.offer.Load(); before != nil && before.Chosen == chosen {
		return
	}
	p := g.publish
	p.Chosen, p.Server = chosen, g
	g.offer.Store(catalogue.Publish(p))
}

// Offer is what the generation publishes.
func (g *Generation) Offer() *catalogue.Offer { return g.offer.Load() }

// State is how long an instance of it lives.
func (g *Generation) State() runtime.State { return g.state }

// Keeps reports whether a call of a session finds what earlier ones left.
func (g *Generation) Keeps(session string) bool {
	return g.state == runtime.StatePlugin || g.state == runtime.StateSession && session != ""
}

// Limit is how many bytes of an answer go to the caller at once; 0 is no bound.
func (g *Generation) Limit() int { return g.output }

// Digest is that of the module; empty for code.
func (g *Generation) Digest() string {
	if g.module == nil {
		return ""
	}
	return g.module.Digest
}

// Terms tell the plugin under its grants and its configuration from every other.
func (g *Generation) Terms() []byte { return g.policy.Terms() }

// acquire counts a call in; false means that the generation is retired.
func (g *Generation) acquire() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired {
		return false
	}
	g.calls++
	return true
}

func (g *Generation) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls == 0 && g.retired {
		close(g.idle)
	}
}

// Retire lets no more calls in.
func (g *Generation) Retire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired {
		return
	}
	g.retired = true
	if g.calls == 0 {
		close(g.idle)
	}
}

// Drain waits for the calls in progress and closes the server; when ctx is done the server ends
// them. The generation must be retired.
func (g *Generation) Drain(ctx context.Context) error {
	select {
	case <-g.idle:
	case <-ctx.Done():
	}
	return g.server.close(ctx)
}

// Serve runs one request: on this generation, or if it was replaced since the caller looked, on
// the one that took its place.
func (g *Generation) Serve(ctx context.Context, c catalogue.Call, r catalogue.Request) (json.RawMessage, error) {
	if c.ID == "" {
		c.ID = rand.Text()
	}
	result, err := g.once(ctx, c, r)
	if !errors.Is(err, module.ErrReplaced) {
		return result, err
	}
	wait, cancel := context.WithTimeout(ctx, reloadWait)
	defer cancel()
	if g.plugin.Ready(wait) != nil {
		return nil, err
	}
	return g.once(ctx, c, r)
}

func (g *Generation) once(ctx context.Context, c catalogue.Call, r catalogue.Request) (json.RawMessage, error) {
	for !g.acquire() {
		next := g.plugin.Current()
		if next == nil || next == g {
			return nil, gone(g.plugin.Name, r.What())
		}
		g = next
	}
	defer g.release()
	if !g.offer.Load().Publishes(c.Principal, r) {
		return nil, gone(g.plugin.Name, r.What())
	}
	if err := g.mayServe(ctx); err != nil {
		return nil, err
	}
	answer, err := g.server.serve(ctx, c, r, g.changed)
	if err == nil && r.Kind != manifest.Tool && g.output > 0 && len(answer) > g.output {
		return nil, &runtime.EndError{Kind: runtime.KindLimit,
			Message: fmt.Sprintf("the answer has %d bytes, and the limit is %d", len(answer), g.output)}
	}
	return answer, err
}

// mayServe asks Admit until it lets a call in.
func (g *Generation) mayServe(ctx context.Context) error {
	if g.admit == nil || g.admitted.Load() {
		return nil
	}
	err := g.admit(ctx)
	if err == nil {
		g.admitted.Store(true)
	}
	return err
}

// gone is the end of a call to an entry that is not published any more.
func gone(plugin, what string) error {
	return &runtime.EndError{
		Kind:    runtime.KindUnavailable,
		Message: fmt.Sprintf("plugin %q no longer publishes %s", plugin, what),
		Err:     catalogue.ErrGone,
	}
}
