package registry

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// coalesce is how long changes are gathered before they are told: a build that writes ten plugins
// is one change to a client.
const coalesce = 50 * time.Millisecond

// maxUpdated bounds the resources that one change names; beyond it all of the plugin's are said to be
// updated, so that a plugin cannot fill the memory with names.
const maxUpdated = 1024

// Change says which lists are others than before, and which resources hold something else.
type Change struct {
	Tools, Prompts bool
	Resources      bool // the lists of resources and of templates

	// Updated are URIs of resources whose plugin says that they hold something else now.
	Updated map[string]bool
	// Replaced are plugins, by name, all of whose resources may hold something else.
	Replaced map[string]bool
}

// Lists reports whether any list is another.
func (c Change) Lists() bool { return c.Tools || c.Prompts || c.Resources }

// Any reports whether there is anything to tell.
func (c Change) Any() bool { return c.Lists() || len(c.Updated) > 0 || len(c.Replaced) > 0 }

// Or joins two changes. It shares nothing with either.
func (c Change) Or(d Change) Change {
	return Change{
		Tools: c.Tools || d.Tools, Prompts: c.Prompts || d.Prompts, Resources: c.Resources || d.Resources,
		Updated: union(c.Updated, d.Updated), Replaced: union(c.Replaced, d.Replaced),
	}
}

func union(a, b map[string]bool) map[string]bool {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	all := make(map[string]bool, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// updated is the change of one resource of a plugin, next to what is to be told already.
func (c Change) updated(plugin, uri string) Change {
	switch {
	case c.Replaced[plugin]:
		return Change{}
	case len(c.Updated) >= maxUpdated && !c.Updated[uri]:
		return Change{Replaced: map[string]bool{plugin: true}}
	}
	return Change{Updated: map[string]bool{uri: true}}
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
	if c.Any() {
		n.add(func(Change) Change { return c })
	}
}

// updated notes that a resource of a plugin holds something else.
func (n *notifier) updated(plugin, uri string) {
	n.add(func(pending Change) Change { return pending.updated(plugin, uri) })
}

// add joins what change makes to what each watcher will be told.
func (n *notifier) add(change func(pending Change) Change) {
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

// close returns when no watcher is being called.
func (n *notifier) close() {
	close(n.stop)
	<-n.done
}
