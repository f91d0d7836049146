package registry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/module"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// server answers the requests of one plugin.
type server interface {
	// serve runs one request. It is safe for concurrent use and is not called after close.
	serve(ctx context.Context, c catalogue.Call, r catalogue.Request, changed changedFunc) (json.RawMessage, error)
	// close gives back what the server holds. No call is in progress. It returns when ctx is done.
	close(ctx context.Context) error
}

// reloadWait bounds how long a call waits for a file that was replaced before its first use.
const reloadWait = 5 * time.Second

var _ catalogue.Server = (*generation)(nil)

// generation is one version of one plugin: a manifest and a server under one configuration. Calls
// hold it; when it is retired it is closed after the last of them.
type generation struct {
	output   int // bytes of an answer that go to the caller at once; 0 is no bound
	plugin   *plugin
	config   Config
	manifest *manifest.Manifest
	wants    []hostfuncs.Want // what the operator may be asked about
	server   server
	module   *module.Module    // what the server runs; nil for code
	pinned   map[string]string // the hashes of the definitions that were approved; nil: all are
	code     *goPlugin         // nil for a module
	places   grant.Places
	log      *slog.Logger

	offer atomic.Pointer[catalogue.Offer] // replaced when the plugin shows or hides some

	mu      sync.Mutex
	chosen  *catalogue.Choice // what the plugin asked to show
	calls   int
	retired bool
	idle    chan struct{} // closed when retired and no call is left
}

// Keeps reports whether a call of a session finds what earlier ones left.
func (g *generation) Keeps(session string) bool {
	state := g.config.State
	if g.module != nil {
		state = stateOf(g.module, state)
	}
	return state == runtime.StatePlugin || state == runtime.StateSession && session != ""
}

// plugin is a name with the generation that serves it now. Entries of an older generation find the
// newer one here.
type plugin struct {
	name   string
	relist func()                          // makes the catalogue anew
	ready  func(ctx context.Context) error // waits for files that are being loaded

	updated func(uri string) // tells that a resource holds something else

	mu      sync.Mutex
	current *generation // nil: removed
}

func (p *plugin) get() *generation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

func (p *plugin) set(g *generation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = g
}

// acquire counts a call in; false means that the generation is retired.
func (g *generation) acquire() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired {
		return false
	}
	g.calls++
	return true
}

func (g *generation) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls == 0 && g.retired {
		close(g.idle)
	}
}

// retire lets no more calls in.
func (g *generation) retire() {
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

// drain waits for the calls in progress and closes the server; when ctx is done the server ends
// them. The generation must be retired.
func (g *generation) drain(ctx context.Context) error {
	select {
	case <-g.idle:
	case <-ctx.Done():
	}
	return g.server.close(ctx)
}

// Serve runs one request: on this generation, or if it was replaced since the caller looked, on
// the one that took its place.
func (g *generation) Serve(ctx context.Context, c catalogue.Call, r catalogue.Request) (json.RawMessage, error) {
	if c.ID == "" {
		c.ID = rand.Text()
	}
	result, err := g.once(ctx, c, r)
	if !errors.Is(err, module.ErrReplaced) {
		return result, err
	}
	wait, cancel := context.WithTimeout(ctx, reloadWait)
	defer cancel()
	if g.plugin.ready(wait) != nil {
		return nil, err
	}
	return g.once(ctx, c, r)
}

func (g *generation) once(ctx context.Context, c catalogue.Call, r catalogue.Request) (json.RawMessage, error) {
	for !g.acquire() {
		next := g.plugin.get()
		if next == nil || next == g {
			return nil, gone(g.plugin.name, r.What())
		}
		g = next
	}
	defer g.release()
	if !g.offer.Load().Publishes(r) {
		return nil, gone(g.plugin.name, r.What())
	}
	answer, err := g.server.serve(ctx, c, r, g.changed)
	if err == nil && r.Kind != manifest.Tool && g.output > 0 && len(answer) > g.output {
		return nil, &runtime.EndError{Kind: runtime.KindLimit,
			Message: fmt.Sprintf("the answer has %d bytes, and the limit is %d", len(answer), g.output)}
	}
	return answer, err
}

// Limit is how many bytes of an answer go to the caller at once.
func (g *generation) Limit() int { return g.output }

// Digest is that of the module; empty for code.
func (g *generation) Digest() string {
	if g.module == nil {
		return ""
	}
	return g.module.Digest
}

// gone is the end of a call to an entry that is not published any more.
func gone(plugin, what string) error {
	return &runtime.EndError{
		Kind:    runtime.KindUnavailable,
		Message: fmt.Sprintf("plugin %q no longer publishes %s", plugin, what),
		Err:     catalogue.ErrGone,
	}
}
