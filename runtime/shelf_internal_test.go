package runtime

import (
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
