package listing

import (
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// Options configure the lists.
type Options struct {
	// Search lists two tools, one to search for tools and one to call them by name, in place of all.
	Search bool
	// PageSize is the maximum number of entries per page.
	PageSize int
	// Meta is the _meta of each modern page.
	Meta json.RawMessage
	// Discover builds the answer to server/discover. skills and pages report whether the catalog has skills and
	// tools with pages.
	Discover func(skills, pages bool) json.RawMessage
	// Logger logs skipped definitions.
	Logger *slog.Logger
}

// maxOwn limits the cached views of single callers.
const maxOwn = 1024

// Views caches the view of the current snapshot. It is safe for concurrent use and must not be copied.
type Views struct {
	Options

	newest   atomic.Pointer[View]
	building sync.Mutex
	own      map[*catalog.Snapshot]*View // filtered views of single callers, for the newest snapshot
	of       *catalog.Snapshot
}

// For returns the view of one caller.
func (v *Views) For(c interface{ Snapshot() *catalog.Snapshot }, caller identity.Identity) *View {
	snapshot := c.Snapshot()
	seen := snapshot.For(caller)
	if seen == snapshot {
		return v.whole(snapshot) // the current one may have rules by now
	}
	v.building.Lock()
	defer v.building.Unlock()
	if v.of != snapshot {
		v.own, v.of = map[*catalog.Snapshot]*View{}, snapshot
	}
	view := v.own[seen]
	if view == nil {
		view = v.Options.view(seen)
		if len(v.own) < maxOwn {
			v.own[seen] = view
		}
	}
	return view
}

// whole returns the unfiltered view of a snapshot. The first request after a change builds it; concurrent requests wait.
func (v *Views) whole(snapshot *catalog.Snapshot) *View {
	if view := v.newest.Load(); view != nil && view.Snapshot == snapshot {
		return view
	}
	v.building.Lock()
	defer v.building.Unlock()
	if view := v.newest.Load(); view != nil && view.Snapshot == snapshot {
		return view
	}
	view := v.Options.view(snapshot)
	v.newest.Store(view)
	return view
}
