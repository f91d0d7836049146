package console

import (
	"slices"
	"sync"
	"time"
)

// maxCalls is how many calls the page shows.
const maxCalls = 50

// Call is what one call did.
type Call struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Plugin  string    `json:"plugin"`
	Tool    string    `json:"tool"`
	Outcome string    `json:"outcome"`
	Millis  float64   `json:"ms"`
	Effects []string  `json:"effects"` // "net GET https://example.com × 2"
	Denials []string  `json:"denials"`
}

// Ended adds a call to those that the page shows.
func (c *Console) Ended(call Call) { c.calls.add(call) }

// recent keeps the last calls.
type recent struct {
	mu    sync.Mutex
	calls []Call
}

func (r *recent) add(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) == maxCalls {
		r.calls = append(r.calls[:0], r.calls[1:]...)
	}
	r.calls = append(r.calls, c)
}

// list returns them, the youngest first.
func (r *recent) list() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := append([]Call{}, r.calls...)
	slices.Reverse(out)
	return out
}
