package streamable

import (
	"log/slog"
	"sync"
)

// budget is a resource shared by callers, with a maximum share for each.
type budget struct {
	share int
	full  *notice

	mu   sync.Mutex
	left int
	of   map[string]int // amount taken by each caller
}

func newBudget(all, share int, full *notice) *budget {
	return &budget{left: all, share: share, full: full, of: map[string]int{}}
}

// take reserves n for a caller. It returns false if it is not available.
func (b *budget) take(caller string, n int) bool {
	b.mu.Lock()
	what := ""
	switch {
	case b.of[caller]+n > b.share:
		what = "the share of " + caller + " is used up"
	case b.left < n:
		what = "all is in use"
	default:
		b.left -= n
		b.of[caller] += n
	}
	b.mu.Unlock()
	if what != "" {
		b.full.hit(what)
	}
	return what == ""
}

func (b *budget) giveBack(caller string, n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
	if b.of[caller] -= n; b.of[caller] == 0 {
		delete(b.of, caller)
	}
}

// notice logs that a limit was reached, at most once a minute.
type notice struct {
	log     *slog.Logger
	setting string
	often   *rateLimiter
}

func newNotice(log *slog.Logger, setting string) *notice {
	return &notice{log: log, setting: setting, often: newRateLimiter(1.0/60, 1)}
}

// hit logs a reached limit. It is safe for concurrent use.
func (n *notice) hit(what string) {
	if n.often.take(n.setting) == 0 {
		n.log.Warn("requests are refused, or connections closed, for want of room", "what", what, "setting", n.setting)
	}
}
