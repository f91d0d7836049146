package protocol

import (
	"context"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/listing"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// Loading is implemented by a Catalog that may load plugins after its creation.
type Loading interface {
	// Ready waits until no plugin is loading. The error is that of ctx.
	Ready(ctx context.Context) error
}

// loadingWait is the longest wait for loading plugins when a name is unknown. Clients with a cached list call as
// soon as the host starts.
const loadingWait = 30 * time.Second

// find looks up an entry in the current catalog, and again after all plugins are loaded. It returns the view of
// the last lookup.
func find[T any](ctx context.Context, r *request, look func(*catalog.Snapshot) (T, bool)) (T, *listing.View, bool) {
	s := r.server
	v := r.view()
	found, ok := look(v.Snapshot)
	if ok {
		return found, v, true
	}
	loading, is := s.catalog.(Loading)
	if !is {
		return found, v, false
	}
	ctx, cancel := context.WithTimeout(ctx, loadingWait)
	defer cancel()
	r.loading = loading.Ready(ctx) != nil // the current state decides then
	v = r.view()
	found, ok = look(v.Snapshot)
	return found, v, ok
}

// soFar ends the message of an unknown name while plugins are loading.
func (r *request) soFar() string {
	if r.loading {
		return " (plugins are still loading: try again)"
	}
	return ""
}

// Completer is implemented by a Catalog that knows when all plugins present at its start are listed.
type Completer interface {
	// IsComplete reports whether they are listed or no longer awaited. It is cheap.
	IsComplete() bool
	// AwaitComplete waits until IsComplete is true or ctx is done, up to its own time limit.
	AwaitComplete(ctx context.Context)
}

// incomplete reports whether lists may lack plugins.
func (s *Server) incomplete() bool {
	w, is := s.catalog.(Completer)
	return is && !w.IsComplete()
}

// awaitComplete waits for the complete catalog, as many clients request each list only once.
func (s *Server) awaitComplete(ctx context.Context) {
	if w, is := s.catalog.(Completer); is {
		w.AwaitComplete(ctx)
	}
}
