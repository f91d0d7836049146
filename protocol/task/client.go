package task

import "sync"

// Clients are the 2025-11-25 sessions that wait for tasks of this process. It is safe for concurrent use.
type Clients struct {
	mu      sync.Mutex
	asking  map[string]bool             // tasks with claimed questions
	hearing map[string]func(msg []byte) // by task, receivers of its progress
}

// claim gives the caller the exclusive right in this process to send the questions of a task until unclaim. It returns
// false if they are already claimed.
func (c *Clients) claim(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking[id] {
		return false
	}
	c.asking[id] = true
	return true
}

// unclaim ends a claim of claim.
func (c *Clients) unclaim(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asking, id)
}

// Hear sets the receiver for the progress messages of a task. A nil f removes it.
func (c *Clients) Hear(id string, f func(msg []byte)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f == nil {
		delete(c.hearing, id)
	} else {
		c.hearing[id] = f
	}
}

// Tell forwards a progress message of a task to the session that began it. The current tasks extension has none.
func (c *Clients) Tell(id string, msg []byte) {
	c.mu.Lock()
	f := c.hearing[id]
	c.mu.Unlock()
	if f != nil && msg != nil {
		f(msg)
	}
}
