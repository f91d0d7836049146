package serving

import (
	"context"
	"sync"
)

// Plugin is a name with the generation that serves it now. Entries of an older generation find the newer one here. It is
// safe for concurrent use.
type Plugin struct {
	Name    string
	Relist  func()                          // is called when a generation is to be published anew
	Ready   func(ctx context.Context) error // waits for files that are being loaded
	Updated func(uri string)                // is called when a resource of the plugin holds something else

	mu      sync.Mutex
	current *Generation // nil: removed
}

// Current is the generation that serves; nil if the plugin was removed.
func (p *Plugin) Current() *Generation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// Replace has a generation serve; nil removes the plugin. The one before is left to the caller, to be retired.
func (p *Plugin) Replace(g *Generation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = g
}
