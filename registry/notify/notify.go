// Package notify tells watchers about changes of the catalogue, soon but not at once: those that come together are told
// together.
//
// This package is not promised to others; it may change with any version.
package notify

import (
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

// Delay is how long changes are gathered before they are told: a build that writes ten plugins
// is one change to a client.
const Delay = 50 * time.Millisecond

// Notifier tells watchers about changes, from one goroutine, several changes at a time. It is safe for concurrent use.
type Notifier struct {
	wake chan struct{} // one token: something is pending
	stop chan struct{}
	done chan struct{}

	mu       sync.Mutex
	watchers map[*watcher]struct{}
}

// watcher is told of what changed since it began to watch.
type watcher struct {
	f       func(catalogue.Change)
	pending catalogue.Change
}

// New returns a notifier, which is to be closed.
func New() *Notifier {
	n := &Notifier{
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		watchers: map[*watcher]struct{}{},
	}
	go n.run()
	return n
}

// Watch calls f after each change, until stop; then f is not called again, unless it is being called just then.
func (n *Notifier) Watch(f func(catalogue.Change)) (stop func()) {
	w := &watcher{f: f}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watchers[w] = struct{}{}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.watchers, w)
	}
}

// Tell has the watchers told of a change.
func (n *Notifier) Tell(c catalogue.Change) {
	if c.Any() {
		n.add(func(catalogue.Change) catalogue.Change { return c })
	}
}

// Updated notes that a resource of a plugin holds something else.
func (n *Notifier) Updated(plugin, uri string) {
	n.add(func(pending catalogue.Change) catalogue.Change { return pending.Update(plugin, uri) })
}

// add joins what change makes to what each watcher will be told.
func (n *Notifier) add(change func(pending catalogue.Change) catalogue.Change) {
	n.mu.Lock()
	for w := range n.watchers {
		w.pending = w.pending.Or(change(w.pending))
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *Notifier) run() {
	defer close(n.done)
	for {
		select {
		case <-n.stop:
			return
		case <-n.wake:
		}
		select {
		case <-n.stop:
			return
		case <-time.After(Delay):
		}
		n.tell()
	}
}

// tell calls the watchers without the lock, so that they may stop watching.
func (n *Notifier) tell() {
	n.mu.Lock()
	var calls []func()
	for w := range n.watchers {
		if c := w.pending; c.Any() {
			calls = append(calls, func() { w.f(c) })
			w.pending = catalogue.Change{}
		}
	}
	n.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// Close returns when no watcher is being called.
func (n *Notifier) Close() {
	close(n.stop)
	<-n.done
}
