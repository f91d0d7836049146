// Package session has the sessions that modern clients begin, whose connections say nothing: each is a name that only
// its client knows, and holds for the principal that began it until nobody has used it for a while.
//
// This package is internal to Sallyport and may change.
package session

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	// maxOfOne is how many sessions of one caller there are; the one unused for longest gives way.
	maxOfOne = 64
	// maxOfAll is how many there are of all callers.
	maxOfAll = 4 << 10
	// idle is how long one is known that nobody uses: as long as a plugin keeps its instance.
	idle = time.Hour
)

// Book has the sessions. What is kept for them is in this process's memory, and so
// are they: no other process takes one for its own.
type Book struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]*session
}

type session struct {
	principal string
	used      time.Time
}

// NewBook returns a book without sessions. Now is the time.
func NewBook(now func() time.Time) *Book { return &Book{now: now, all: map[string]*session{}} }

// Begin begins a session and returns its name, which nobody can guess; "" is that there are too many.
func (b *Book) Begin(principal string) string {
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

// Use reports whether a session is there, and the principal's. It counts as used now.
func (b *Book) Use(principal, name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, now := b.all[name], b.now()
	if s == nil || s.principal != principal || now.Sub(s.used) > idle {
		return false
	}
	s.used = now
	return true
}
