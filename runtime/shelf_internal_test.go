package runtime

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The timer of a shelf is set for the time at which something can expire, and later uses do not set it again.
func TestShelf_armsForTheNextExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{image: &template{}}
		put := func() { s.put(&Instance{from: s.image}) }
		want := func(when string, d time.Duration) {
			t.Helper()
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			if got := time.Until(s.due); s.timer == nil || got != d {
				t.Errorf("%s: got a timer of %v, want %v", when, got, d)
			}
		}
		put()
		want("with an instance", idleInstance)
		s.take()
		time.Sleep(idleInstance - time.Second)
		for range 3 {
			put()
			s.take()
		}
		want("after more calls", time.Second)
		time.Sleep(time.Second)
		want("without an instance", idleImage-time.Second)
		put()
		want("with an instance again", idleInstance)
		s.timer.Stop()
	})
}

// A processor takes an instance that it used, if that is idle: another one's memory is in the caches of another processor.
func TestShelf_takesWhatTheProcessorUsed(t *testing.T) {
	a, b, c := &Instance{tag: new(tag)}, &Instance{tag: new(tag)}, &Instance{tag: new(tag)}
	s := &shelf{idle: []*Instance{a, b, c}, near: sync.Pool{New: func() any { return b.tag }}}
	for i, want := range []*Instance{b, c, a, nil} { // b is not idle any more
		if got := s.take(); got != want {
			t.Errorf("instance %d: got %p, want %p of a %p, b %p, c %p", i, got, want, a, b, c)
		}
	}
}
