package resume

import (
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// maxSpent is how many states that were used are remembered until they expire, and maxOfOne how many of one
	// principal's: a task's are good for days. Where a store remembers them they need not be here.
	maxSpent = 64 << 10
	maxOfOne = 8 << 10
	// maxReplay is the longest answer that is kept for a client that asks with the same state again,
	// and maxReplays how many bytes of them: such a client lost the first answer on its way.
	maxReplay  = 64 << 10
	maxReplays = 16 << 20
)

// spent remembers which states were used: each runs its call once.
type spent struct {
	now    func() time.Time
	stored bool // a store remembers them too

	mu    sync.Mutex
	uses  map[string]*claim
	of    map[string]int // how many, by principal
	bytes int
	next  time.Time // when to look for what has expired
}

// claim is the use of one state.
type claim struct {
	owner   *spent
	id      string
	who     string
	expires time.Time

	// guarded by owner.mu
	done  bool
	reply *Reply // nil if it is not kept
}

// Reply is what a request was answered, for any id.
type Reply struct {
	Tail []byte         // what follows the id
	Err  *jsonrpc.Error // that it carries; nil for a result
}

// UsedError is the end of a request whose state was used, and what it was answered then.
type UsedError struct{ Reply *Reply }

// Error says so.
func (e *UsedError) Error() string { return ErrUsed.Error() }

// claim takes a state for one run.
func (s *spent) claim(id, who string, expires time.Time) (*claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if c := s.uses[id]; c != nil && c.reply != nil {
		return nil, &UsedError{Reply: c.reply}
	} else if c != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: ErrUsed.Error()}
	}
	if s.stored && (len(s.uses) >= maxSpent || s.of[who] >= maxOfOne) {
		s.forget(func(*claim) bool { return true })
	}
	if len(s.uses) >= maxSpent || s.of[who] >= maxOfOne {
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: "too many calls were resumed in a short time"}
	}
	c := &claim{owner: s, id: id, who: who, expires: expires}
	if s.uses == nil {
		s.uses, s.of = map[string]*claim{}, map[string]int{}
	}
	s.uses[id] = c
	s.of[who]++
	return c, nil
}

// expire forgets what cannot be used again anyway. It looks at most once a minute.
func (s *spent) expire() {
	now := s.now()
	if now.Before(s.next) {
		return
	}
	s.next = now.Add(time.Minute)
	s.forget(func(c *claim) bool { return now.After(c.expires) })
}

// forget forgets uses that are over.
func (s *spent) forget(which func(*claim) bool) {
	for _, c := range s.uses {
		if c.done && which(c) {
			s.remove(c)
		}
	}
}

func (s *spent) remove(c *claim) {
	if c.reply != nil {
		s.bytes -= len(c.reply.Tail)
	}
	delete(s.uses, c.id)
	if s.of[c.who]--; s.of[c.who] == 0 {
		delete(s.of, c.who)
	}
}

// settle keeps the answer of the run, if there is one.
func (c *claim) settle(a *Reply) {
	s := c.owner
	s.mu.Lock()
	defer s.mu.Unlock()
	c.done = true
	if a != nil && len(a.Tail) <= maxReplay && s.bytes+len(a.Tail) <= maxReplays {
		c.reply = a
		s.bytes += len(a.Tail)
	}
}

// release lets the state be used again: the run left no trace.
func (c *claim) release() {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	c.owner.remove(c)
}
