package listing

import (
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// Options say how lists are made.
type Options struct {
	// Search lists two tools, one to search for tools and one to call them by name, in place of all.
	Search bool
	// PageSize is how many entries a page has at most.
	PageSize int
	// TTL is how long modern clients may keep a list; 0 tells them to ask each time.
	TTL time.Duration
	// Meta is the _meta of each page of the modern era.
	Meta json.RawMessage
	// Discover makes the answer to server/discover, of which the catalogue decides a part: whether there are skills,
	// and tools with pages.
	Discover func(skills, pages bool) json.RawMessage
	// Logger hears of definitions that are left out.
	Logger *slog.Logger
}

// Views keeps the view of the present state. It is safe for concurrent use, and must not be copied.
type Views struct {
	Options

	newest   atomic.Pointer[View]
	building sync.Mutex
	own      map[*catalog.Snapshot]*View // of callers who see something else than all, of the newest snapshot
	of       *catalog.Snapshot
}

// For returns the view that one caller has.
func (v *Views) For(c interface{ Snapshot() *catalog.Snapshot }, principal string) *View {
	snapshot := c.Snapshot()
	seen := snapshot.For(principal)
	if seen == snapshot {
		return v.Of(c)
	}
	v.building.Lock()
	defer v.building.Unlock()
	if v.of != snapshot {
		v.own, v.of = map[*catalog.Snapshot]*View{}, snapshot
	}
	view := v.own[seen]
	if view == nil {
		view = v.Options.view(seen)
		v.own[seen] = view
	}
	return view
}

// Of returns the view of what a catalogue holds now. Only the first request after a change waits for one to be made.
func (v *Views) Of(c interface{ Snapshot() *catalog.Snapshot }) *View {
	snapshot := c.Snapshot()
	if view := v.newest.Load(); view != nil && view.Snapshot == snapshot {
		return view
	}
	v.building.Lock()
	defer v.building.Unlock()
	snapshot = c.Snapshot()
	if view := v.newest.Load(); view != nil && view.Snapshot == snapshot {
		return view
	}
	view := v.Options.view(snapshot)
	v.newest.Store(view)
	return view
}
