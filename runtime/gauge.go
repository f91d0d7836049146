package runtime

import "sync"

// gauge counts users of a resource. After close, enter fails, and drained is closed when the last user has left. The
// zero gauge is open and empty.
type gauge struct {
	mu      sync.Mutex
	n       int
	drained chan struct{} // nil while open
}

// enter adds a user, unless the gauge is closed or already has max users. A negative max means unlimited.
func (g *gauge) enter(max int) (ok, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.drained != nil {
		return false, true
	}
	if max >= 0 && g.n >= max {
		return false, false
	}
	g.n++
	return true, false
}

func (g *gauge) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 && g.drained != nil {
		close(g.drained)
	}
}

// close rejects new users and returns a channel that is closed when none is left.
func (g *gauge) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.drained == nil {
		g.drained = make(chan struct{})
		if g.n == 0 {
			close(g.drained)
		}
	}
	return g.drained
}
