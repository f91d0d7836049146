package catalog

import (
	"sync"
	"time"
)

// NotifyDelay is how long changes are collected before watchers are called: a build that writes ten plugins is one change to
// a client.
const NotifyDelay = 50 * time.Millisecond

// Notifier calls watchers with coalesced changes, from one goroutine. It is safe for concurrent use.
type Notifier struct {
	wake chan struct{} // one token: a change is pending
	stop chan struct{}
	done chan struct{}

	mu       sync.Mutex
	watchers map[*watcher]struct{}
}

// watcher holds the changes that its function has yet to receive.
type watcher struct {
	f       func(Change)
	pending Change
}

// NewNotifier returns a notifier; the caller must Close it.
func NewNotifier() *Notifier {
	n := &Notifier{
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		watchers: map[*watcher]struct{}{},
	}
	go n.run()
	return n
}

// Watch calls f after each change until stop is called; after that only a call in progress may still finish.
func (n *Notifier) Watch(f func(Change)) (stop func()) {
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

// Tell adds a change for all watchers.
func (n *Notifier) Tell(c Change) {
	if c.Any() {
		n.add(func(Change) Change { return c })
	}
}

// Updated adds an update of one resource of a plugin.
func (n *Notifier) Updated(plugin, uri string) {
	n.add(func(pending Change) Change { return pending.Update(plugin, uri) })
}

// add merges a change into the pending change of each watcher.
func (n *Notifier) add(change func(pending Change) Change) {
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
		case <-time.After(NotifyDelay):
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
			w.pending = Change{}
		}
	}
	n.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// Close stops the notifier and waits for watchers that are being called.
func (n *Notifier) Close() {
	close(n.stop)
	<-n.done
}
