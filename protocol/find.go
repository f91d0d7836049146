package protocol

import (
	"context"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/listing"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

// Loading is met by a Catalog whose plugins may come after it was made.
type Loading interface {
	// Ready waits until nothing is being loaded. The error is ctx's.
	Ready(ctx context.Context) error
}

// loadingWait is how long a request for a name that nobody knows waits for plugins that are still being
// loaded: a client that kept its list calls as soon as the host is started.
const loadingWait = 30 * time.Second

// find looks a thing up in the present catalogue, and once more when all plugins are loaded. The view is
// the one that was looked at last.
func find[T any](ctx context.Context, r *request, look func(*catalogue.Snapshot) (T, bool)) (T, *listing.View, bool) {
	s := r.server
	v := r.current()
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
	_ = loading.Ready(ctx) // out of time or not, what is there now is the answer
	v = r.current()
	found, ok = look(v.Snapshot)
	return found, v, ok
}

// Whole is met by a Catalog that knows when the plugins which were there at its start are all listed.
type Whole interface {
	// IsWhole reports whether they are, or are not waited for any more. It is cheap.
	IsWhole() bool
	// Whole waits for that, within a bound of its own, or until ctx is done.
	Whole(ctx context.Context)
}

// incomplete reports whether plugins may be missing in a list.
func (s *Server) incomplete() bool {
	w, is := s.catalog.(Whole)
	return is && !w.IsWhole()
}

// awaitWhole waits until none is missing: many clients ask for a list once.
func (s *Server) awaitWhole(ctx context.Context) {
	if w, is := s.catalog.(Whole); is {
		w.Whole(ctx)
	}
}
