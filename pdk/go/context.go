package sallyport

import "time"

// Context is context.Context, spelled out: the package would add 170 KB to every plugin.
type Context interface {
	Deadline() (deadline time.Time, ok bool)
	Done() <-chan struct{}
	Err() error
	Value(key any) any
}

// Context is a context that ends with the call, for code that takes one: when the caller gave up, or the
// call's time is over. Its error is [ErrnoCancelled] then. Nothing runs in a module while it waits for
// the host, so that is noticed when the host is asked for something next.
func (c *Call) Context() Context {
	if c.done == nil {
		c.done = make(chan struct{})
		if c.over {
			close(c.done)
		}
	}
	return callContext{c}
}

// ended takes in that the host does nothing for the call any more.
func (c *Call) ended(e Errno) {
	if e != ErrnoCancelled || c.over {
		return
	}
	if c.over = true; c.done != nil {
		close(c.done)
	}
}

// callContext is the context of a call. It keeps the call alive, as every context of a handler does.
type callContext struct{ call *Call }

// Deadline is not known in the module: the host keeps it.
func (x callContext) Deadline() (deadline time.Time, ok bool) { return deadline, false }

// Done is closed when the call is over.
func (x callContext) Done() <-chan struct{} { return x.call.done }

// Err is nil while the call goes on.
func (x callContext) Err() error {
	if x.call.over {
		return ErrnoCancelled
	}
	return nil
}

// Value has none.
func (x callContext) Value(any) any { return nil }
