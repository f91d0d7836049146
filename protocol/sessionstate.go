package protocol

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/sallyport-mcp/sallyport/protocol/notify"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// SessionState is the part of a legacy session that holds for all of its requests. A transport with several processes
// stores it as JSON, so that each of them can serve the session. It is not changed after Conn.Adopt.
type SessionState struct {
	// Version is the agreed protocol version, "" before initialize.
	Version string `json:"version"`
	// Capabilities are those that the client declared; nil is none.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	// Client is the declared name of the client, as JSON.
	Client json.RawMessage `json:"client,omitempty"`
	// Ready means that notifications/initialized was received.
	Ready bool `json:"ready,omitempty"`
	// Level is the lowest log level that the client asked for.
	Level notify.Level `json:"level,omitempty"`
	// Resources are the URIs that the client has subscribed to.
	Resources map[string]bool `json:"resources,omitempty"`
	// Keeper is the ConnOptions.Process with the instances of plugins that keep state for the session, "" before the
	// first of their calls.
	Keeper string `json:"keeper,omitempty"`
}

// change changes the state of the legacy session by f, which gets a copy. f may be called more than once.
func (c *Conn) change(ctx context.Context, f func(*SessionState) error) error {
	if c.opts.Share == nil {
		return c.legacy.change(f)
	}
	return c.opts.Share(ctx, f)
}

// Adopt replaces the state of the legacy session by one that another process has stored. Its caller orders the states.
func (c *Conn) Adopt(s SessionState) {
	c.met(s.Client)
	c.legacy.adopt(&s)
}

// State returns the state of the legacy session.
func (c *Conn) State() SessionState { return *c.legacy.state.Load() }

// change changes the state by f, which gets a copy.
func (s *legacySession) change(f func(*SessionState) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.state.Load().clone()
	if err := f(&next); err != nil {
		return err
	}
	s.set(&next)
	return nil
}

// adopt replaces the state.
func (s *legacySession) adopt(next *SessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(next)
}

// set replaces the state. The caller holds mu.
func (s *legacySession) set(next *SessionState) {
	s.state.Store(next)
	if next.Ready {
		s.once.Do(func() { close(s.readied) })
	}
}

// clone returns a copy that may be changed.
func (s *SessionState) clone() SessionState {
	c := *s
	c.Resources = maps.Clone(s.Resources)
	return c
}

// keep makes this process the one with the session's instances. It fails if another one has them: an instance is memory of
// its process.
func (c *Conn) keep(ctx context.Context) error {
	self := c.opts.Process
	if self == "" || c.legacy.state.Load().Keeper == self {
		return nil
	}
	return c.change(ctx, func(s *SessionState) error {
		if s.Keeper != "" && s.Keeper != self {
			return &runtime.EndError{Kind: runtime.KindConflict, Message: "this plugin keeps the state of the session in another process of the server, or kept it in one that has ended: " +
				"send the request there, or begin another session with initialize"}
		}
		s.Keeper = self
		return nil
	})
}

// subscribe adds a resource.
func (s *SessionState) subscribe(uri string) error {
	if len(s.Resources) >= notify.MaxTopics && !s.Resources[uri] {
		return &runtime.EndError{Kind: runtime.KindLimit, Message: "too many resources are subscribed to"}
	}
	if s.Resources == nil {
		s.Resources = map[string]bool{}
	}
	s.Resources[uri] = true
	return nil
}
