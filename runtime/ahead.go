package runtime

import (
	"context"
	"sync"
)

// aheadLoads are the modules that are being loaded ahead of Compile.
type aheadLoads struct {
	mu  sync.Mutex
	all map[string]chan struct{} // by digest; closed when the load has ended
}

func (a *aheadLoads) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all)
}

// begin records a load; false if there is one of this digest.
func (a *aheadLoads) begin(digest string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[digest] != nil {
		return false
	}
	if a.all == nil {
		a.all = map[string]chan struct{}{}
	}
	a.all[digest] = make(chan struct{})
	return true
}

func (a *aheadLoads) end(digest string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.all[digest])
	delete(a.all, digest)
}

// await returns when no load of this digest is in progress.
func (a *aheadLoads) await(ctx context.Context, digest string) error {
	a.mu.Lock()
	done := a.all[digest]
	a.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// LoadAhead begins to load the module with this digest, in 64 hexadecimal digits, if a former run has compiled it, so that
// Compile finds it loaded. Nothing of the module runs before. The returned function releases the load unless Compile has
// taken it, and waits for its end; it is called once. Damaged or removed files of the cache are left to Compile.
func (e *Engine) LoadAhead(digest string) (release func()) {
	if ok, _ := e.users.enter(-1); !ok {
		return func() {}
	}
	if !e.HasRoom() || !e.Compiled(digest) || !e.ahead.begin(digest) {
		e.users.leave()
		return func() {}
	}
	loaded := make(chan *code, 1)
	go func() {
		c := e.loadBefore(digest)
		e.users.leave()
		e.ahead.end(digest)
		loaded <- c
	}()
	return func() {
		if c := <-loaded; c != nil {
			_ = c.release(nil) // of memory only
		}
	}
}

// loadBefore returns the code that a former run has compiled, with a reference; nil if there is none.
func (e *Engine) loadBefore(digest string) *code {
	p, ok := e.preparedBefore(digest)
	if !ok || e.checkImports(p.Imports) != nil {
		return nil
	}
	b, err := e.load(e.stop, p)
	if err != nil {
		return nil
	}
	return e.adopt(digest, p, b)
}
