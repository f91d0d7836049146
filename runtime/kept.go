package runtime

import (
	"cmp"
	"container/list"
	"fmt"
	"sync"
	"time"
)

// DefaultKept is the memory of all instances together that are kept for sessions, in bytes.
const DefaultKept = 1 << 30

const (
	// idleSession is how long the instance of a session that nobody uses is kept.
	idleSession = time.Hour
	// keptOverhead is what an instance counts beside its memory, tables, segments and globals: the engine keeps more for it.
	keptOverhead = 256 << 10
	// maxLost is how many sessions are remembered that lost their instances, to tell their next calls.
	maxLost = 16 << 10
)

// kept holds the instances of all plugins that live longer than a call, while they serve none. They share one budget of
// bytes: over it, whoever has most loses the one unused for longest, so that nobody's sessions take those of others away.
type kept struct {
	max uint64

	mu    sync.Mutex
	bytes uint64
	homes map[keptKey]*keeper
	of    map[keptOwner]*keptShare
	lost  map[keptKey]*list.Element // of keptLoss
	order list.List                 // of lost, the oldest first
	timer *time.Timer               // runs while there are some
}

// keptKey names the instance of a session of a plugin; that of all sessions is "".
type keptKey struct {
	pool    *Pool
	session string
}

// keptOwner is whose share an instance counts for: a caller's, or for one that serves all callers its plugin's own.
type keptOwner struct {
	caller string
	pool   *Pool
}

// keptShare is what one owner has, the longest unused first.
type keptShare struct {
	bytes uint64
	idle  list.List // of *keeper
}

type keptLoss struct {
	key keptKey
	why string
}

// keeper has the instance of one session. Whose call has the turn may use it: the queue lets in one at a time.
type keeper struct {
	key   keptKey
	owner keptOwner
	in    *Instance // nil before the first call, and after the guest broke
	bytes uint64
	used  time.Time
	place *list.Element
}

// keep returns the keeper for a call; nil if no instance is kept for it. A session that lost its instance learns it, once.
func (p *Pool) keep(t *ticket) (*keeper, error) {
	if !t.kept {
		return nil, nil
	}
	k := &keeper{key: keptKey{p, t.instance}, owner: keptOwner{caller: t.who.caller}}
	if p.state == StatePlugin {
		k.owner = keptOwner{pool: p}
	}
	in, why := p.module.engine.kept.take(k.key)
	if why != "" {
		return nil, &EndError{Kind: KindUnavailable, Message: "what the plugin kept for this session is gone, since " + why + ": the next call begins anew"}
	}
	k.in = in
	return k, nil
}

// back keeps the instance as the call left it.
func (k *keeper) back(in *Instance) {
	k.in = in
	k.key.pool.module.engine.kept.put(k)
}

// keptInstance takes the instance from its keeper, or makes one.
func (p *Pool) keptInstance(c *callContext, k *keeper) (*Instance, error) {
	if in := k.in; in != nil {
		k.in = nil
		return in, nil
	}
	return p.clean(c)
}

// take takes an instance out, nil if there is none. why is not empty if it was given up.
func (k *kept) take(key keptKey) (in *Instance, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.homes[key]; h != nil {
		k.remove(h)
		return h.in, ""
	}
	if e := k.lost[key]; e != nil {
		why = e.Value.(keptLoss).why
		k.forget(e)
	}
	return nil, why
}

// Keep changes EngineOptions.Kept.
func (e *Engine) Keep(bytes uint64) {
	k := &e.kept
	k.mu.Lock()
	k.max = cmp.Or(bytes, DefaultKept)
	gone := k.fit()
	k.mu.Unlock()
	closeAll(gone)
}

// put keeps an instance, and gives up those for which there is no room.
func (k *kept) put(h *keeper) {
	h.bytes, h.used = h.in.size()+h.in.module.beside+keptOverhead, time.Now()
	k.mu.Lock()
	k.add(h)
	gone := k.fit()
	k.mu.Unlock()
	closeAll(gone)
}

// fit takes out what is over the budget.
func (k *kept) fit() (gone []*keeper) {
	for k.bytes > k.max {
		spare := k.spare()
		k.lose(spare, fmt.Sprintf("kept instances need more than %s together (limits.kept)", bytesText(k.max)))
		gone = append(gone, spare)
	}
	return gone
}

func (k *kept) add(h *keeper) {
	if k.homes == nil {
		k.homes, k.of, k.lost = map[keptKey]*keeper{}, map[keptOwner]*keptShare{}, map[keptKey]*list.Element{}
	}
	s := k.of[h.owner]
	if s == nil {
		s = &keptShare{}
		k.of[h.owner] = s
	}
	h.place = s.idle.PushBack(h)
	s.bytes += h.bytes
	k.bytes += h.bytes
	k.homes[h.key] = h
	k.arm()
}

func (k *kept) remove(h *keeper) {
	s := k.of[h.owner]
	s.idle.Remove(h.place)
	s.bytes -= h.bytes
	k.bytes -= h.bytes
	delete(k.homes, h.key)
	if s.idle.Len() == 0 {
		delete(k.of, h.owner)
	}
}

// spare is the instance that gives way: of the owner who has most, the one unused for longest.
func (k *kept) spare() *keeper {
	var most *keptShare
	for _, s := range k.of {
		if most == nil || s.bytes > most.bytes {
			most = s
		}
	}
	return most.idle.Front().Value.(*keeper)
}

// lose takes an instance out and notes it for the session's next call.
func (k *kept) lose(h *keeper, why string) {
	k.remove(h)
	k.lost[h.key] = k.order.PushBack(keptLoss{h.key, why})
	if k.order.Len() > maxLost {
		k.forget(k.order.Front())
	}
}

func (k *kept) forget(e *list.Element) {
	delete(k.lost, e.Value.(keptLoss).key)
	k.order.Remove(e)
}

// arm has the instances looked at later. Locked by the caller.
func (k *kept) arm() {
	if k.timer == nil && len(k.homes) > 0 {
		k.timer = time.AfterFunc(idleSession, k.trim)
	}
}

// trim gives up the instances that nobody used for long; those that serve all callers stay.
func (k *kept) trim() {
	var gone []*keeper
	k.mu.Lock()
	k.timer = nil
	for _, h := range k.homes {
		if h.owner.pool == nil && time.Since(h.used) >= idleSession {
			k.lose(h, "nobody used it for an hour")
			gone = append(gone, h)
		}
	}
	k.arm()
	k.mu.Unlock()
	closeAll(gone)
}

// drop closes the instances of a pool, none of whose calls is in progress.
func (k *kept) drop(p *Pool) {
	var gone []*keeper
	k.mu.Lock()
	for key, h := range k.homes {
		if key.pool == p {
			k.remove(h)
			gone = append(gone, h)
		}
	}
	for key, e := range k.lost {
		if key.pool == p {
			k.forget(e)
		}
	}
	if len(k.homes) == 0 && k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	k.mu.Unlock()
	closeAll(gone)
}

func closeAll(list []*keeper) {
	for _, h := range list {
		h.in.close()
	}
}
