package runtime

// Inside is how many calls run or wait.
func (p *Pool) Inside() int { return int(p.inside.Load()) }

// Closed tells whether calls are still let in.
func (p *Pool) Closed() bool {
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	return p.calls.drained != nil
}
