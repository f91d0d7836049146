package runtime

import (
	"sync/atomic"
	"time"
)

// Stats are the numbers of an engine at one moment.
type Stats struct {
	Active    int    // calls that run or wait, and loads and compilations
	Waiting   int    // calls that wait for their turn
	Kept      int    // idle instances of sessions and of plugins with one instance
	KeptBytes uint64 // memory of these instances
	Modules   int    // distinct modules of the plugins
	Loaded    uint64 // memory of the code and the images of all modules, in bytes
	Compiled  uint64 // modules compiled so far, without those read from the cache
}

// Stats returns the current numbers.
func (e *Engine) Stats() Stats {
	s := Stats{Waiting: int(e.work.waiting.Load()), Compiled: e.work.compiled.Load()}
	e.users.mu.Lock()
	s.Active = e.users.n
	e.users.mu.Unlock()
	e.kept.mu.Lock()
	s.Kept, s.KeptBytes = len(e.kept.homes), e.kept.bytes
	e.kept.mu.Unlock()
	e.loaded.mu.Lock()
	s.Modules = len(e.loaded.all)
	e.loaded.mu.Unlock()
	_, s.Loaded = e.loaded.idle()
	return s
}

// workload counts what the queues and the compiler of an engine do. It is safe for concurrent use.
type workload struct {
	waiting  atomic.Int64
	compiled atomic.Uint64
	waited   func(time.Duration) // see EngineOptions.Waited; may be nil
}

// wait counts a call that waits for its turn, until done is called.
func (w *workload) wait() (done func()) {
	w.waiting.Add(1)
	began := time.Now()
	return func() {
		w.waiting.Add(-1)
		if w.waited != nil {
			w.waited(time.Since(began))
		}
	}
}
