package runtime

// Inside returns the number of running and waiting calls.
func (p *Pool) Inside() int {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.away
	for _, l := range []*line{&q.plain, &q.tasks} {
		n += l.running + l.waiting + l.back.Len()
	}
	return n
}

// Closed reports whether new calls are rejected.
func (p *Pool) Closed() bool {
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	return p.calls.drained != nil
}
