package plugin

import (
	"context"
	"sync"
)

// Plugin holds the current generation of a named plugin. Entries of an older generation find the newer one here. It is
// safe for concurrent use.
type Plugin struct {
	Name    string
	Relist  func()                          // called when a generation's offer must be updated
	Ready   func(ctx context.Context) error // waits for files that are being loaded
	Updated func(uri string)                // called when the contents of a resource changed

	mu      sync.Mutex
	current *Generation // nil: removed
}

// Current returns the serving generation; nil if the plugin was removed.
func (p *Plugin) Current() *Generation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// Replace sets the serving generation; nil removes the plugin. The caller must retire the previous one.
func (p *Plugin) Replace(g *Generation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = g
}
