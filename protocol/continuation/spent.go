package continuation

import (
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// maxSpent is the maximum number of used states remembered until they expire, and maxOfOne the maximum per
	// principal, as states of tasks last for days. States recorded in a store are not needed here.
	maxSpent = 64 << 10
	maxOfOne = 8 << 10
	// maxReplay is the maximum size of an answer stored for clients that lost it, and maxReplays the maximum total,
	// both in bytes.
	maxReplay  = 64 << 10
	maxReplays = 16 << 20
)

// spent records used states, so that each runs its call only once.
type spent struct {
	now    func() time.Time
	stored bool // also recorded in a store

	mu    sync.Mutex
	uses  map[string]*claim
	of    map[string]int // count by principal
	bytes int
	next  time.Time // time of the next expiry run
}

// claim is the use of one state.
type claim struct {
	owner   *spent
	id      string
	who     string
	expires time.Time

	// guarded by owner.mu
	done  bool
	reply *Reply // nil if not stored
}

// Reply is the answer of a request, without its id.
type Reply struct {
	Tail []byte         // all bytes after the id
	Err  *jsonrpc.Error // error in Tail; nil for a result
}

// UsedError is the error for a used state, with the stored answer.
type UsedError struct{ Reply *Reply }

// Error returns the message of ErrUsed.
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

// expire removes expired states, at most once a minute.
func (s *spent) expire() {
	now := s.now()
	if now.Before(s.next) {
		return
	}
	s.next = now.Add(time.Minute)
	s.forget(func(c *claim) bool { return now.After(c.expires) })
}

// forget removes the finished uses selected by which.
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

// settle stores the answer of the run, if there is one.
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

// release makes the state usable again, after a run without effects.
func (c *claim) release() {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	c.owner.remove(c)
}
