package registry

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/cache"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// maxUncompiled limits the modules that are compiled before their first calls; further ones are compiled by theirs.
	maxUncompiled = 24
	// warmDelay leaves the processor to the first requests. A compilation cannot be interrupted, so a host started only
	// for its lists begins none.
	warmDelay = 5 * time.Second
	// listDelay leaves the processor to the answer of the first list, before modules that were compiled in a former run
	// are loaded. That takes some 20 ms for each.
	listDelay = 50 * time.Millisecond
	// early is the number of modules that are loaded before the first list: those with the most calls so far.
	early = 2
	// busyPoll is the time between two looks whether calls are running.
	busyPoll = 5 * time.Millisecond
	// countTime is the time between two records of the calls.
	countTime = 30 * time.Second
)

// ahead loads modules and builds the images of their plugins before the first calls, those with the most calls in former
// runs first. It works while no call runs, on one module at a time, and as long as the engine has room.
type ahead struct {
	engine  *runtime.Engine
	cache   *cache.Cache
	life    *lifecycle
	prepare func(context.Context, *plugin.Module) // builds the images of the plugins of a module
	modules func() []*plugin.Module               // all modules, to count their calls
	after   time.Duration                         // from the start to the first compilation
	listed  <-chan struct{}                       // closed when the first list can be answered

	expected func() // releases the module that expect began to load; nil for none

	mu    sync.Mutex
	queue []*plugin.Module
	news  chan struct{} // has room for one; sent when the queue grows
}

// add queues a module.
func (a *ahead) add(m *plugin.Module) {
	a.mu.Lock()
	a.queue = append(a.queue, m)
	a.mu.Unlock()
	select {
	case a.news <- struct{}{}:
	default: // it was not received yet
	}
}

// expect begins to load the module with the most calls in former runs, by its digest, while the folder is read.
func (a *ahead) expect() {
	for _, digits := range a.mostCalled(1) {
		a.expected = a.engine.LoadAhead(digits)
	}
}

// loseExpected unloads the module that expect began to load, unless a plugin has it by now.
func (a *ahead) loseExpected() {
	if a.expected != nil {
		a.expected()
		a.expected = nil
	}
}

// run prepares the queued modules until the registry closes. Those that a former run has compiled are only loaded, which
// begins soon after the first list.
func (a *ahead) run() {
	late, count := time.NewTimer(a.after), time.NewTicker(countTime)
	defer late.Stop()
	defer count.Stop()
	a.loadEarly()
	a.loseExpected()
	isLate := a.awaitQuiet(late.C)
	var uncompiled []*plugin.Module
	for {
		for _, m := range a.take() {
			switch {
			case a.isCompiled(m):
				a.get(m)
			case len(uncompiled) < maxUncompiled:
				uncompiled = append(uncompiled, m)
			}
		}
		if isLate {
			for _, m := range uncompiled {
				a.get(m)
			}
			uncompiled = nil
		}
		select {
		case <-a.life.stop.Done():
			return
		case <-late.C:
			isLate = true
		case <-a.news:
		case <-count.C:
			a.count()
		}
	}
}

// take empties the queue and returns its modules, those with the most calls first.
func (a *ahead) take() []*plugin.Module {
	a.mu.Lock()
	all := a.queue
	a.queue = nil
	a.mu.Unlock()
	slices.SortStableFunc(all, func(x, y *plugin.Module) int {
		return -cmp.Compare(a.cache.Calls(x.Digest), a.cache.Calls(y.Digest))
	})
	return all
}

// loadEarly prepares the most used modules, and leaves the others in the queue.
func (a *ahead) loadEarly() {
	all := a.take()
	n := 0
	for n < min(early, len(all)) && a.cache.Calls(all[n].Digest) > 0 && a.isCompiled(all[n]) {
		a.get(all[n])
		n++
	}
	for _, m := range all[n:] {
		a.add(m)
	}
}

// awaitQuiet waits until the first list is answered, and reports whether late came before that.
func (a *ahead) awaitQuiet(late <-chan time.Time) (isLate bool) {
	var quiet <-chan time.Time
	listed := a.listed
	for {
		select {
		case <-a.life.stop.Done():
			return false
		case <-late:
			return true
		case <-listed:
			listed, quiet = nil, time.After(listDelay)
		case <-quiet:
			return false
		}
	}
}

// isCompiled reports whether a former run has compiled a module.
func (a *ahead) isCompiled(m *plugin.Module) bool {
	digits, ok := fileid.Hex(m.Digest)
	return ok && a.engine.Compiled(digits)
}

// get loads or compiles a module and prepares its plugins, unless nobody needs it any more or there is no room.
func (a *ahead) get(m *plugin.Module) {
	a.awaitIdle()
	if a.life.stop.Err() != nil || !m.Wanted() || !a.engine.HasRoom() {
		return
	}
	if _, err := m.Get(a.life.stop); err == nil {
		a.prepare(a.life.stop, m)
	}
}

// awaitIdle waits until no call runs, or the registry closes.
func (a *ahead) awaitIdle() {
	for a.engine.IsBusy() {
		select {
		case <-a.life.stop.Done():
			return
		case <-time.After(busyPoll):
		}
	}
}

// mostCalled returns the digests of the modules with the most calls in hexadecimal digits.
func (a *ahead) mostCalled(n int) []string {
	var all []string
	for _, digest := range a.cache.MostCalled(n) {
		if digits, ok := fileid.Hex(digest); ok {
			all = append(all, digits)
		}
	}
	return all
}

// count records the calls since the last time, for the order in later runs. The code of the modules that those load first
// is kept so that it is loaded sooner.
func (a *ahead) count() {
	calls := map[string]uint64{}
	for _, m := range a.modules() {
		if n := m.TakeCalls(); n > 0 {
			calls[m.Digest] += n
		}
	}
	if len(calls) > 0 {
		a.cache.AddCalls(calls)
		a.engine.KeepPlain(a.mostCalled(early))
	}
}
