package runtime

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// State is how long an instance lives.
type State string

// The states. The zero State is StateCall.
const (
	// StateCall gives each call a clean instance, a copy of one that has started.
	StateCall State = "call"
	// StateFresh gives each call an instance of its own that starts within the call: what a copy has in common with
	// other copies, such as the seed of a generator, is its own too.
	StateFresh State = "fresh"
	// StateSession keeps one instance for each session, which serves one call after the other.
	StateSession State = "session"
	// StatePlugin keeps one instance for all calls, which serves one after the other.
	StatePlugin State = "plugin"
)

// Known tells whether the state exists.
func (s State) Known() bool {
	switch s {
	case "", StateCall, StateFresh, StateSession, StatePlugin:
		return true
	}
	return false
}

const (
	// maxSessions is how many sessions of a plugin have an instance; one of whoever has most gives way.
	maxSessions = 64
	// idleSession is how long the instance of a session that nobody uses is kept.
	idleSession = time.Hour
)

// kept holds the instances that live longer than a call.
type kept struct {
	mu       sync.Mutex
	sessions map[string]*keeper
	timer    *time.Timer // runs while there are sessions
}

// keeper has the instance of one session. Whoever holds its lock may use it.
type keeper struct {
	lock chan struct{} // a token while a call has the instance
	in   *Instance     // nil before the first call, and after the guest broke

	users int       // calls that use it or wait for it; by kept.mu, as is the next
	used  time.Time // when the last of them left
	owner *kept
	name  string

	caller string // who has the session
}

// keep returns the keeper for a call, with its lock; nil if no instance is kept for it.
func (p *Pool) keep(ctx context.Context, req Request) (*keeper, error) {
	name := req.Session
	switch {
	case p.state == StatePlugin:
		name = ""
	case p.state != StateSession || name == "":
		return nil, nil
	}
	k, err := p.kept.get(name, req.Caller)
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx, k.lock); err != nil {
		p.kept.leave(k)
		return nil, err
	}
	return k, nil
}

// unlock lets the next call of the session in.
func (k *keeper) unlock() {
	if k == nil {
		return
	}
	<-k.lock
	k.owner.leave(k)
}

// put keeps the instance as the call left it.
func (k *keeper) put(in *Instance) { k.in = in }

// keptInstance takes the instance from its keeper, or makes one.
func (p *Pool) keptInstance(c *callContext, k *keeper) (*Instance, error) {
	if in := k.in; in != nil {
		k.in = nil
		return in, nil
	}
	if !p.module.Clean() {
		return p.module.fresh(c, p.limits, p.dialect)
	}
	return p.clean(c)
}

// get finds or makes the keeper of a session. It must be left.
func (k *kept) get(name, caller string) (*keeper, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.sessions[name]
	if s == nil {
		if len(k.sessions) >= maxSessions && !k.evict() {
			return nil, &EndError{Kind: KindLimit, Message: fmt.Sprintf("%d sessions of this plugin are in use, which is the most", maxSessions)}
		}
		if k.sessions == nil {
			k.sessions = make(map[string]*keeper)
		}
		s = &keeper{lock: make(chan struct{}, 1), owner: k, name: name, caller: caller}
		k.sessions[name] = s
	}
	s.users++
	return s, nil
}

func (k *kept) leave(s *keeper) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.users--
	s.used = time.Now()
	if s.users == 0 && s.in == nil {
		delete(k.sessions, s.name)
	}
	if k.timer == nil && s.name != "" && len(k.sessions) > 0 {
		k.timer = time.AfterFunc(idleSession, k.trim)
	}
}

// evict closes a session; false means that all are in use.
func (k *kept) evict() bool {
	spare := k.spare()
	if spare == nil {
		return false
	}
	k.drop(spare)
	return true
}

// spare is the session that gives way: of the callers who have one that is not in use, whoever has most loses the one
// unused for longest, so that nobody's sessions take those of others away. It is nil if all are in use.
func (k *kept) spare() (found *keeper) {
	of := map[string]int{}
	for _, s := range k.sessions {
		of[s.caller]++
	}
	for _, s := range k.sessions {
		more := 1
		if found != nil {
			more = cmp.Or(cmp.Compare(of[s.caller], of[found.caller]), found.used.Compare(s.used))
		}
		if s.users == 0 && more > 0 {
			found = s
		}
	}
	return found
}

func (k *kept) drop(s *keeper) {
	s.in.close()
	delete(k.sessions, s.name)
}

// trim closes the sessions that nobody used for long.
func (k *kept) trim() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = nil
	for _, s := range k.sessions {
		if s.users == 0 && s.name != "" && time.Since(s.used) >= idleSession {
			k.drop(s)
		}
	}
	if len(k.sessions) > 0 {
		k.timer = time.AfterFunc(idleSession, k.trim)
	}
}

// close closes all. No call is in progress.
func (k *kept) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.sessions {
		k.drop(s)
	}
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
}
