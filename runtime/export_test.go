package runtime

import "bytes"

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

// Image returns the contents of the current image, nil if there is none.
func (p *Pool) Image() []byte {
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	t := p.shelf.image
	if t == nil {
		return nil
	}
	m := t.image.Memory(0)
	defer m.Free()
	return bytes.Clone(m.Bytes())
}

// DropImage makes the next call build the image again.
func (p *Pool) DropImage() { p.shelf.close() }

// SetVersion makes the engine that of another version of the program.
func (e *Engine) SetVersion(version string) { e.version = version }

// IsLoaded reports whether the code of the pool's module is loaded.
func (p *Pool) IsLoaded() bool {
	c := p.module
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.body.compiled != nil
}

// IsWanted reports whether a call waits for an image that is being built.
func (p *Pool) IsWanted() bool {
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	return p.shelf.making != nil && p.shelf.making.wanted
}
