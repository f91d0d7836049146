package envelope

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	// maxOfOne is the maximum number of sessions per caller. Beyond it, the one idle for longest is dropped.
	maxOfOne = 64
	// maxOfAll is the maximum number of sessions.
	maxOfAll = 4 << 10
	// idle is the lifetime of an unused session, the same as of a plugin's kept instance.
	idle = time.Hour
)

// Sessions holds the sessions. They and their state are in the memory of this process, so no other process accepts
// them.
type Sessions struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]*session
}

type session struct {
	principal string
	used      time.Time
}

// NewSessions returns an empty book. now is the clock.
func NewSessions(now func() time.Time) *Sessions {
	return &Sessions{now: now, all: map[string]*session{}}
}

// Begin begins a session and returns its unguessable name, or "" if there are too many.
func (b *Sessions) Begin(principal string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, mine, oldest := b.now(), 0, ""
	for name, other := range b.all {
		if now.Sub(other.used) > idle {
			delete(b.all, name)
			continue
		}
		if other.principal != principal {
			continue
		}
		if mine++; oldest == "" || other.used.Before(b.all[oldest].used) {
			oldest = name
		}
	}
	if mine >= maxOfOne {
		delete(b.all, oldest)
	}
	if len(b.all) >= maxOfAll {
		return ""
	}
	name := rand.Text()
	b.all[name] = &session{principal: principal, used: now}
	return name
}

// Use reports whether the session exists and belongs to the principal, and marks it as used now.
func (b *Sessions) Use(principal, name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, now := b.all[name], b.now()
	if s == nil || s.principal != principal || now.Sub(s.used) > idle {
		return false
	}
	s.used = now
	return true
}
