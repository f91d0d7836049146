package plugin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Options configures a Generation.
type Options struct {
	// Publish selects the published entries; Chosen and Server are set by the generation.
	Publish catalog.Plugin
	// Module serves the calls; if nil, Code does. The generation holds a reference to it until it is drained.
	Module *Module
	Code   Func
	// Policy creates the gates of the calls; Drain closes it.
	Policy *hostfuncs.Policy
	// Admit is called before a call until it first returns nil; a nil Admit admits all calls.
	Admit  func(ctx context.Context) error
	Limits runtime.Limits // of a module; zero fields use the engine's defaults
	// Classes are the limits of the policy's classes of callers, in their order; zero fields are those of Limits.
	Classes []runtime.Limits
	State   runtime.State // the lifetime of an instance; "" is the plugin's request, if allowed
}

// Generation is one version of one plugin under one configuration: its published entries and its server. Calls hold it
// open; after Retire it is closed when the last of them ends. It is safe for concurrent use.
type Generation struct {
	plugin  *Plugin
	publish catalog.Plugin
	module  *Module // nil for code
	state   runtime.State
	policy  *hostfuncs.Policy
	outputs []output // by class; empty is no limit
	server  server

	admit    func(ctx context.Context) error
	admitted atomic.Bool // admit returned nil once

	calls *callCount
	offer atomic.Pointer[catalog.Offer] // replaced when the plugin shows or hides entries

	mu     sync.Mutex
	chosen *catalog.Choices // the plugin's visible entries, per principal
}

var _ catalog.Server = (*Generation)(nil)

// server runs the requests of one generation.
type server interface {
	// answer runs one request. It is safe for concurrent use and is not called after close.
	answer(ctx context.Context, c catalog.Call, r catalog.Request, changed changedFunc) (*transaction, error)
	// close releases the server's resources. No call is in progress. It returns when ctx is done.
	close(ctx context.Context) error
}

// maxAnswer limits the answer of a plugin, in bytes. The part beyond the plugin's output limit is kept, to be read in
// pages.
const maxAnswer = 8 << 20

// reloadWait limits how long a call waits for the reload of a file that was replaced before its first use.
const reloadWait = 5 * time.Second

// New returns a generation of a plugin. It serves calls after Plugin.Replace.
func New(p *Plugin, o Options) *Generation {
	g := &Generation{plugin: p, publish: o.Publish, module: o.Module, policy: o.Policy, admit: o.Admit, state: o.State, calls: newCallCount()}
	if o.Module == nil {
		g.server = &codeServer{call: o.Code, policy: o.Policy}
	} else {
		g.state = stateOf(o.Module, o.State)
		g.outputs = outputsOf(&o)
		g.server = newModuleServer(o.Module, o.Policy, o.Limits, o.Classes, g.state)
	}
	g.Publish()
	return g
}

// Publish updates the offer if the plugin's choices have changed since it was computed.
func (g *Generation) Publish() {
	g.mu.Lock()
	chosen := g.chosen
	g.mu.Unlock()
	if before := g.offer.Load(); before != nil && before.Chosen == chosen {
		return
	}
	p := g.publish
	p.Chosen, p.Server = chosen, g
	g.offer.Store(catalog.Publish(p))
}

// Offer returns the published entries.
func (g *Generation) Offer() *catalog.Offer { return g.offer.Load() }

// State returns the lifetime of an instance.
func (g *Generation) State() runtime.State { return g.state }

// Keeps reports whether a call of a session sees plugin state from earlier calls.
func (g *Generation) Keeps(session string) bool {
	return g.state == runtime.StatePlugin || g.state == runtime.StateSession && session != ""
}

// output is the largest answer that is sent to a caller at once.
type output struct {
	bytes   int
	setting string // that sets it
}

// outputsOf returns the outputs of each class. The guests of o may answer up to maxAnswer: the rest is kept.
func outputsOf(o *Options) []output {
	all := output{cmp.Or(o.Limits.Output, runtime.DefaultOutput), runtime.Setting("output", false)}
	o.Limits.Output = max(all.bytes, maxAnswer)
	list := []output{all}
	o.Classes = slices.Clone(o.Classes)
	for i := range o.Classes {
		c, own := &o.Classes[i], all
		if c.Output > 0 {
			own = output{c.Output, runtime.Setting("output", true)}
			c.Output = max(c.Output, maxAnswer)
		}
		list = append(list, own)
	}
	return list
}

// Limit returns the largest answer sent to a caller at once, in bytes, and the setting that sets it; 0 is no limit.
func (g *Generation) Limit(caller identity.Identity) (bytes int, setting string) {
	o := g.outputFor(caller)
	return o.bytes, o.setting
}

func (g *Generation) outputFor(caller identity.Identity) output {
	if len(g.outputs) == 0 {
		return output{}
	}
	return g.outputs[g.policy.Class(caller)]
}

// Digest returns the digest of the module; empty for code.
func (g *Generation) Digest() string {
	if g.module == nil {
		return ""
	}
	return g.module.Digest
}

// Terms returns a value that is unique to the plugin, its grants and its configuration.
func (g *Generation) Terms() []byte { return g.policy.Terms() }

// Retire stops admission of calls. It is idempotent.
func (g *Generation) Retire() { g.calls.retire() }

// Drain waits for the calls in progress and closes the server; when ctx is done the server ends them. The generation
// must be retired.
func (g *Generation) Drain(ctx context.Context) error {
	select {
	case <-g.calls.idle:
	case <-ctx.Done():
	}
	return g.server.close(ctx)
}

// Prepare loads the module and builds its image ahead of the first call. When ctx is done, that is given up, unless a call
// waits for it.
func (g *Generation) Prepare(ctx context.Context) error {
	s, ok := g.server.(*moduleServer)
	if !ok || !g.calls.acquire() {
		return nil
	}
	defer g.calls.release()
	pool, err := s.ready(ctx)
	if err != nil {
		return err
	}
	return pool.Prepare(ctx)
}

// Run runs one request on this generation, or on its replacement if it is retired.
func (g *Generation) Run(ctx context.Context, c catalog.Call, r catalog.Request) (catalog.Run, error) {
	if c.ID == "" {
		c.ID = rand.Text()
	}
	run, err := g.runCurrent(ctx, c, r)
	if !errors.Is(err, ErrReplaced) {
		return run, err
	}
	wait, cancel := context.WithTimeout(ctx, reloadWait)
	defer cancel()
	if g.plugin.Ready(wait) != nil {
		return nil, err
	}
	return g.runCurrent(ctx, c, r)
}

// runCurrent runs one request on the generation that admits it, and holds that one open until the call ends.
func (g *Generation) runCurrent(ctx context.Context, c catalog.Call, r catalog.Request) (catalog.Run, error) {
	for !g.calls.acquire() {
		next := g.plugin.Current()
		if next == nil || next == g {
			return nil, gone(g.plugin.Name, r.What())
		}
		g = next
	}
	handed := false
	defer func() {
		if !handed {
			g.calls.release()
		}
	}()
	if !g.offer.Load().Publishes(c.Caller(), r) {
		return nil, gone(g.plugin.Name, r.What())
	}
	if scopes := g.offer.Load().Lacking(c.Caller(), r); scopes != nil {
		return nil, catalog.LacksScope(r.What(), scopes)
	}
	if err := g.mayServe(ctx); err != nil {
		return nil, err
	}
	t, err := g.server.answer(ctx, c, r, g.changed)
	if err != nil {
		return nil, err
	}
	if r.Kind != manifest.Tool {
		t.limit = g.outputFor(c.Caller())
	}
	t.calls, handed = g.calls, true
	return t, nil
}

// mayServe calls admit until it succeeds once.
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

// gone returns the error of a call to an entry that is no longer published.
func gone(plugin, what string) error {
	return &runtime.EndError{
		Kind:    runtime.KindUnavailable,
		Message: fmt.Sprintf("plugin %q no longer publishes %s", plugin, what),
		Err:     catalog.ErrGone,
	}
}
