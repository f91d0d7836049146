package registry

import (
	"reflect"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// assemble rebuilds the catalog from files, configuration and code, and swaps it in. Generations that are no longer
// used are retired, and drained in the background.
func (r *Registry) assemble() {
	r.mu.Lock()
	look := r.assembleLocked()
	r.mu.Unlock()
	if look {
		r.touch("")
	}
}

// assembleLocked reports whether kept files have yet to be loaded.
func (r *Registry) assembleLocked() (look bool) {
	if r.closed {
		return false
	}
	plans := r.plans()
	look = r.needKept(plans)
	old := r.current()
	r.forget(plans)
	var serving []*generation
	status := make([]Status, 0, len(plans))
	for _, p := range plans {
		g := r.generationFor(p)
		if g != nil {
			serving = append(serving, g)
		}
		status = append(status, r.statusOf(p, g))
	}
	r.swap(serving, status)
	for key, g := range old {
		if p := r.plugins[key]; p == nil || p.now != g {
			r.retire(g)
		}
	}
	return look
}

// forget removes the plugins that have no plan.
func (r *Registry) forget(plans []*plan) {
	wanted := map[string]bool{}
	for _, p := range plans {
		wanted[p.key()] = true
	}
	for key, p := range r.plugins {
		if !wanted[key] {
			r.take(key, p)
		}
	}
}

// current returns the serving generation of each plugin.
func (r *Registry) current() map[string]*generation {
	now := map[string]*generation{}
	for key, p := range r.plugins {
		now[key] = p.now
	}
	return now
}

// swap publishes the offers of the serving generations and notifies watchers of the changes.
func (r *Registry) swap(serving []*generation, status []Status) {
	old := r.shown.Load()
	offers := make([]*catalog.Offer, len(serving))
	for i, g := range serving {
		offers[i] = g.Offer()
	}
	next := catalog.Join(offers, func(plugin, problem string) {
		for i := range status {
			if status[i].Name == plugin {
				status[i].Warnings = append(status[i].Warnings, problem)
			}
		}
	})
	count(next, status)
	change := catalog.Between(old.snapshot, next)
	next.Generation = old.snapshot.Generation
	if change.Lists() {
		next.Generation++
	}
	r.shown.Store(&shown{snapshot: next, status: status})
	if !reflect.DeepEqual(old.status, status) {
		change.Updated = map[string]bool{builtinURI: true}
	}
	r.report(old.status, status)
	r.notes.Tell(change)
}
