// Package storetest is what tests with a store have in common. It is for tests only.
package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// Clock is a time that a test moves. It is safe for concurrent use.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a clock that stands still at a time.
func NewClock(at time.Time) *Clock { return &Clock{at: at} }

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Pass moves the time on.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// Open returns a store that is closed with the test, which fails if that fails.
func Open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s := store.New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
