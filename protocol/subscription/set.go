package subscription

import (
	"sync"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxListens is how many subscriptions/listen one client may have open: each holds a place that a call
// could have.
const maxListens = 32

// Set is what one client wants to be told. The zero value is empty. It is safe for concurrent use.
type Set struct {
	mu      sync.Mutex
	open    map[*Subscription]struct{}
	ended   bool            // none may begin
	session map[string]bool // URIs, of the legacy session
}

// Open opens a subscription. The caller drops it.
func (s *Set) Open(wants Topics) (*Subscription, error) {
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

// Drop ends what Open began.
func (s *Set) Drop(one *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, one)
}

// End ends all subscriptions, and lets none begin.
func (s *Set) End() {
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

// Tell tells all subscriptions of a change, and returns what of it the legacy session hears. owner finds the plugin of
// a resource.
func (s *Set) Tell(c catalog.Change, owner func(uri string) string) (session Topics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		one.tell(c, owner)
	}
	all := Topics{tools: true, prompts: true, resources: true, uris: s.session}
	return all.in(c, owner)
}

// Subscribe subscribes the legacy session to a resource.
func (s *Set) Subscribe(uri string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.session) >= MaxTopics && !s.session[uri] {
		return &runtime.EndError{Kind: runtime.KindLimit, Message: "too many resources are subscribed to"}
	}
	if s.session == nil {
		s.session = map[string]bool{}
	}
	s.session[uri] = true
	return nil
}

// Unsubscribe ends that. One that was never there is no error.
func (s *Set) Unsubscribe(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.session, uri)
}

// Forget is for a client that begins a legacy session anew.
func (s *Set) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = nil
}
