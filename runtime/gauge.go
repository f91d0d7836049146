package runtime

import "sync"

// gauge counts who is inside. Once it is closed nobody enters any more, and drained is closed when
// the last has left. The zero gauge is open and empty.
type gauge struct {
	mu      sync.Mutex
	n       int
	drained chan struct{} // nil while open
}

// enter counts one more, unless the gauge is closed or max are inside already; below zero means
// that there is no maximum.
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

// close lets nobody in from now on and returns a channel that is closed when nobody is inside.
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
