package registry

import (
	"time"

	"github.com/sallyport-mcp/sallyport/registry/module"
)

const (
	// maxWarm is how many modules may wait to be compiled before somebody calls them. Each keeps its
	// machine code in memory, several times its file; of more plugins the first call waits.
	maxWarm = 24
	// warmDelay leaves the processor to the first requests. A compilation cannot be interrupted, so a
	// host that only lives to be asked for its lists begins none.
	warmDelay = 5 * time.Second
)

// warmUp has a module compiled when there is time. Past maxWarm waiting ones it is left to its first
// call.
func (r *Registry) warmUp(m *module.Module) {
	select {
	case r.warm <- m:
	default:
	}
}

// startWarming compiles one module after the other until the registry closes.
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
