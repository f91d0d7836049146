package runtime

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// idleInstance is how long an unused clean instance is kept; making one takes a third of a millisecond.
	idleInstance = 30 * time.Second
	// idleImage is how long an unused image is kept; building one takes as long as the module takes to start.
	idleImage = 10 * time.Minute
)

// shelf is the cache of a plugin's clean instances, and of the image they are copied from.
type shelf struct {
	lead   string // of the image; "" for that of the started module
	mu     sync.Mutex
	image  *template
	making *making
	idle   []*Instance // most recently used last
	near   sync.Pool   // of *tag, for each processor that of an instance that it used: its caches hold the memory
	used   time.Time   // last use of the image
	timer  *time.Timer // runs while there is an image
	due    time.Time   // of the timer
}

// tag identifies an instance without keeping its code in memory.
type tag struct{ _ byte }

// making is an image being built.
type making struct {
	done   chan struct{}
	image  *template
	err    error
	wanted bool // by a call
	cancel context.CancelFunc
}

// instance takes or makes the instance for a call, and returns the shelf that it is of; nil for none. An instance that was
// started within the call is already bound to it.
func (p *Pool) instance(c *callContext, req Request, k *keeper) (in *Instance, of *shelf, err error) {
	switch {
	case k != nil:
		in, err = p.keptInstance(c, k)
	case p.state == StateFresh:
		in, err = p.module.fresh(c, c.terms, p.room, p.dialect)
	default:
		of = p.shelfFor(req)
		in, err = p.clean(c, of)
	}
	return in, of, err
}

// giveBack reuses or closes the instance of a call after a normal end.
func (p *Pool) giveBack(in *Instance, of *shelf, k *keeper) {
	switch {
	case k != nil:
		k.back(in)
	case of != nil:
		p.putBack(of, in)
	default:
		in.close()
	}
}

// clean takes an instance from a shelf, or copies one from the image.
func (p *Pool) clean(c *callContext, s *shelf) (*Instance, error) {
	if in := s.take(); in != nil {
		return in, nil
	}
	t, err := p.template(c, s, true)
	if err != nil {
		return nil, err
	}
	return t.instance(c)
}

// template returns the image of a shelf. The first caller starts the build, and later callers wait for it; it continues if
// the first one is cancelled, unless no caller was a call.
func (p *Pool) template(ctx context.Context, s *shelf, call bool) (*template, error) {
	s.mu.Lock()
	s.used = time.Now()
	if t := s.image; t != nil {
		s.mu.Unlock()
		return t, nil
	}
	m := s.making
	if m == nil {
		if err := p.use(); err != nil {
			s.mu.Unlock()
			return nil, err
		}
		p.module.hold()
		building, cancel := context.WithCancel(p.stop)
		m = &making{done: make(chan struct{}), cancel: cancel}
		s.making = m
		go p.make(building, s, m)
	}
	m.wanted = m.wanted || call
	s.mu.Unlock()
	select {
	case <-m.done:
		return m.image, m.err
	case <-ctx.Done():
		s.giveUp(m)
		return nil, outOfTime(ctx, ctx.Err(), "")
	}
}

// giveUp ends a build that no call waits for. A later caller begins a new one.
func (s *shelf) giveUp(m *making) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !m.wanted && s.making == m {
		s.making = nil
		m.cancel()
	}
}

// make builds the image of a shelf.
func (p *Pool) make(ctx context.Context, s *shelf, m *making) {
	defer p.unuse()
	defer m.cancel()
	if s.lead == "" {
		m.image, m.err = p.build(ctx)
	} else {
		m.image, m.err = p.leadIn(ctx, s.lead)
	}
	s.mu.Lock()
	if s.making == m {
		s.making, s.image = nil, m.image
		s.arm()
	} else if m.image != nil { // given up
		m.image.close()
	}
	s.mu.Unlock()
	if m.err == nil {
		p.module.dropSegments()
	}
	p.module.unuse() // before the callers, which use it too: the last of them ends its use
	close(m.done)
	p.module.engine.loaded.fit()
}

// putBack resets an instance and returns it to its shelf.
func (p *Pool) putBack(s *shelf, in *Instance) {
	if err := in.from.restore(context.Background(), in); err != nil {
		if !errors.Is(err, errCannotShrink) {
			p.module.engine.log.Warn("an instance could not be made clean and is given up", "error", err)
		}
		in.close()
		return
	}
	s.put(in)
}

// instanceOverhead is the host memory of an idle instance beside its image, in bytes: pages of its own, and the engine's
// records.
const instanceOverhead = 256 << 10

// size returns the memory of the image and of the idle instances, in bytes.
func (s *shelf) size() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := uint64(len(s.idle)) * instanceOverhead
	if s.image != nil {
		n += s.image.image.Resident()
	}
	return n
}

// take returns an idle instance that this processor used, or else the most recently used one; nil for none.
func (s *shelf) take() *Instance {
	near, _ := s.near.Get().(*tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) == 0 {
		return nil
	}
	i := slices.IndexFunc(s.idle, func(in *Instance) bool { return in.tag == near })
	if i < 0 {
		i = len(s.idle) - 1
	}
	in := s.idle[i]
	s.idle = slices.Delete(s.idle, i, i+1)
	return in
}

// put keeps a clean instance, if it was copied from the current image.
func (s *shelf) put(in *Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.image == nil || s.image != in.from {
		in.close()
		return
	}
	in.since = time.Now()
	s.used = in.since
	s.idle = append(s.idle, in)
	s.near.Put(in.tag)
	s.arm()
}

// arm schedules trim for the time at which something can expire. Later use only postpones that. The caller holds mu.
func (s *shelf) arm() {
	if s.image == nil {
		return
	}
	due := s.used.Add(idleImage)
	if len(s.idle) > 0 {
		due = s.idle[0].since.Add(idleInstance)
	}
	switch {
	case s.timer == nil:
		s.timer = time.AfterFunc(time.Until(due), s.trim)
	case due.Before(s.due):
		s.timer.Reset(time.Until(due))
	default:
		return
	}
	s.due = due
}

// trim closes instances and the image after their idle times.
func (s *shelf) trim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop() // arm may have set it again meanwhile
		s.timer = nil
	}
	old := 0
	for old < len(s.idle) && time.Since(s.idle[old].since) >= idleInstance {
		s.idle[old].close()
		old++
	}
	s.idle = slices.Delete(s.idle, 0, old)
	if len(s.idle) == 0 && time.Since(s.used) >= idleImage {
		s.drop()
	}
	s.arm()
}

// drop releases the image. Instances in use stay valid.
func (s *shelf) drop() {
	if s.image != nil {
		s.image.close()
		s.image = nil
	}
}

// close closes all instances and the image. No call may be in progress.
func (s *shelf) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.idle {
		in.close()
	}
	s.idle = nil
	s.drop()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}
