package sallyport

import "time"

// Context has the methods of context.Context. Importing that package would add 170 KB to every plugin.
type Context interface {
	Deadline() (deadline time.Time, ok bool)
	Done() <-chan struct{}
	Err() error
	Value(key any) any
}

// Context returns a context for functions that require one. It ends when the caller cancels the call or its deadline
// is exceeded, and its error is then [ErrnoCancelled]. A module does not run while it waits for the host, so that the
// end is noticed at the next request to the host.
func (c *Call) Context() Context {
	if c.done == nil {
		c.done = make(chan struct{})
		if c.over {
			close(c.done)
		}
	}
	return callContext{c}
}

// ended records that the host accepts no more requests of the call.
func (c *Call) ended(e Errno) {
	if e != ErrnoCancelled || c.over {
		return
	}
	if c.over = true; c.done != nil {
		close(c.done)
	}
}

// callContext is the context of a call. It keeps the call alive, as does any context of a handler.
type callContext struct{ call *Call }

// Deadline returns no deadline: only the host knows it.
func (x callContext) Deadline() (deadline time.Time, ok bool) { return deadline, false }

// Done returns a channel that is closed when the call has ended.
func (x callContext) Done() <-chan struct{} { return x.call.done }

// Err returns nil until the call has ended, and then [ErrnoCancelled].
func (x callContext) Err() error {
	if x.call.over {
		return ErrnoCancelled
	}
	return nil
}

// Value returns nil.
func (x callContext) Value(any) any { return nil }
