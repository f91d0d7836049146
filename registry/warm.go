package registry

import (
	"time"

	"github.com/sallyport-mcp/sallyport/registry/plugin"
)

const (
	// maxWarm limits the modules queued for compilation ahead of their first call. Each keeps its machine code in
	// memory, several times its file; further plugins are compiled by their first call.
	maxWarm = 24
	// warmDelay leaves the processor to the first requests. A compilation cannot be interrupted, so a host started only
	// for its lists begins none.
	warmDelay = 5 * time.Second
)

// warmUp queues a module for compilation. With a full queue the module is left to its first call.
func (r *Registry) warmUp(m *plugin.Module) {
	select {
	case r.warm <- m:
	default:
	}
}

// startWarming compiles the queued modules one at a time until the registry closes.
func (r *Registry) startWarming() {
	if r.opts.Engine == nil || r.opts.Files != nil {
		return
	}
	r.work.Go(func() {
		select {
		case <-r.stop.Done():
			return
		case <-time.After(r.warmAfter):
		}
		for {
			select {
			case <-r.stop.Done():
				return
			case m := <-r.warm:
				if m.Wanted() {
					m.Get(r.stop)
				}
			}
		}
	})
}
