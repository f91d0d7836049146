package notify

import (
	"sync"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxListens is the maximum number of open subscriptions/listen per client. Each counts as a request in flight.
const maxListens = 32

// Subscriptions are the open subscriptions/listen of one client. The zero value is empty. It is safe for concurrent use.
type Subscriptions struct {
	mu    sync.Mutex
	open  map[*Subscription]struct{}
	ended bool // no new subscriptions
}

// Open opens a subscription. The caller must call Drop.
func (s *Subscriptions) Open(wants Topics) (*Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the connection is closing"}
	case len(s.open) >= maxListens:
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: "too many subscriptions are open"}
	}
	if s.open == nil {
		s.open = map[*Subscription]struct{}{}
	}
	one := newSubscription(wants)
	s.open[one] = struct{}{}
	return one, nil
}

// Drop closes a subscription of Open.
func (s *Subscriptions) Drop(one *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, one)
}

// End ends all subscriptions and refuses new ones.
func (s *Subscriptions) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	for one := range s.open {
		close(one.ended)
	}
}

// Tell reports a change to all subscriptions and returns the part for the legacy session, which has subscribed to uris.
// owner returns the plugin of a resource.
func (s *Subscriptions) Tell(c catalog.Change, owner func(uri string) string, uris map[string]bool) (session Topics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		one.tell(c, owner)
	}
	all := Topics{tools: true, prompts: true, resources: true, uris: uris}
	return all.in(c, owner)
}
