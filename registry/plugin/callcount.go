package plugin

import "sync"

// callCount counts the calls of a generation until it is retired and the last has ended. It is safe for concurrent use.
type callCount struct {
	idle chan struct{} // closed when retired and no call is running

	mu      sync.Mutex
	running int
	retired bool
}

func newCallCount() *callCount { return &callCount{idle: make(chan struct{})} }

// acquire registers a call; false means that the generation is retired.
func (c *callCount) acquire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return false
	}
	c.running++
	return true
}

// release ends a call.
func (c *callCount) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.retired {
		close(c.idle)
	}
}

// retire stops admission of calls. It is idempotent.
func (c *callCount) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return
	}
	c.retired = true
	if c.running == 0 {
		close(c.idle)
	}
}
