package registry

import (
	"slices"
	"sync"
	"time"
)

// coalesce is how long changes are gathered before they are told: a build that writes ten plugins
// is one change to a client.
const coalesce = 50 * time.Millisecond

// Change says which lists are others than before.
type Change struct {
	Tools, Prompts bool
	Resources      bool // templates too
}

func (c Change) any() bool { return c.Tools || c.Prompts || c.Resources }

func (c Change) or(d Change) Change {
	return Change{Tools: c.Tools || d.Tools, Prompts: c.Prompts || d.Prompts, Resources: c.Resources || d.Resources}
}

// changeBetween compares what clients see of two snapshots.
func changeBetween(a, b *Snapshot) Change {
	return Change{
		Tools: !slices.EqualFunc(a.Tools, b.Tools, func(x, y *Tool) bool {
			return x.Name == y.Name && string(x.Definition) == string(y.Definition)
		}),
		Prompts: !slices.EqualFunc(a.Prompts, b.Prompts, func(x, y *Prompt) bool {
			return x.Name == y.Name && string(x.Definition) == string(y.Definition)
		}),
		Resources: !slices.EqualFunc(a.Resources, b.Resources, func(x, y *Resource) bool {
			return x.URI == y.URI && string(x.Definition) == string(y.Definition)
		}) || !slices.EqualFunc(a.Templates, b.Templates, func(x, y *Template) bool {
			return x.URITemplate == y.URITemplate && string(x.Definition) == string(y.Definition)
		}),
	}
}

// notifier tells watchers about changes, from one goroutine, several changes at a time.
type notifier struct {
	wake chan struct{} // one token: something is pending
	stop chan struct{}
	done chan struct{}

	mu       sync.Mutex
	watchers map[*watcher]struct{}
}

// watcher is told of what changed since it began to watch.
type watcher struct {
	f       func(Change)
	pending Change
}

func newNotifier() *notifier {
	n := &notifier{
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		watchers: map[*watcher]struct{}{},
	}
	go n.run()
	return n
}

func (n *notifier) watch(f func(Change)) (stop func()) {
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

func (n *notifier) notify(c Change) {
	if !c.any() {
		return
	}
	n.mu.Lock()
	for w := range n.watchers {
		w.pending = w.pending.or(c)
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notifier) run() {
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
		case <-time.After(coalesce):
		}
		n.tell()
	}
}

// tell calls the watchers without the lock, so that they may stop watching.
func (n *notifier) tell() {
	n.mu.Lock()
	var calls []func()
	for w := range n.watchers {
		if c := w.pending; c.any() {
			calls = append(calls, func() { w.f(c) })
			w.pending = Change{}
		}
	}
	n.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// close returns when no watcher is being called.
func (n *notifier) close() {
	close(n.stop)
	<-n.done
}
