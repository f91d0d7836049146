package runtime

import (
	"cmp"
	"container/list"
	"fmt"
	"sync"
	"time"
)

// DefaultKept is the default limit of the memory of all kept instances together, in bytes.
const DefaultKept = 1 << 30

const (
	// idleSession is how long an unused session instance is kept.
	idleSession = time.Hour
	// keptOverhead is the engine's own cost of an instance, in bytes, beside its memory, tables, segments and globals.
	keptOverhead = 256 << 10
	// maxLost bounds the record of evicted sessions, whose next calls get an error.
	maxLost = 16 << 10
)

// kept holds the idle instances of StateSession and StatePlugin, of all plugins. They share one budget of bytes. Over
// it, the owner with the most bytes loses its least recently used instance, so that one owner cannot evict the
// sessions of others.
type kept struct {
	max uint64

	mu    sync.Mutex
	bytes uint64
	homes map[keptKey]*keeper
	of    map[keptOwner]*keptShare
	lost  map[keptKey]*list.Element // of keptLoss
	order list.List                 // of lost, oldest first
	timer *time.Timer               // runs while instances are kept
}

// keptKey identifies the instance of a session of a plugin; session is "" under StatePlugin.
type keptKey struct {
	pool    *Pool
	session string
}

// keptOwner is the owner that an instance is charged to: a caller, or the plugin itself under StatePlugin.
type keptOwner struct {
	caller string
	pool   *Pool
}

// keptShare holds the instances of one owner, least recently used first.
type keptShare struct {
	bytes uint64
	idle  list.List // of *keeper
}

type keptLoss struct {
	key keptKey
	why string
}

// keeper holds the instance of one session. Only the call with the turn may use it: the queue admits one at a time.
type keeper struct {
	key   keptKey
	owner keptOwner
	in    *Instance // nil before the first call, and after the guest failed
	bytes uint64
	used  time.Time
	place *list.Element
}

// keep returns the keeper for a call, or nil if its instance is not kept. A session that lost its instance gets an
// error, once.
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
		return nil, &EndError{Kind: KindUnavailable, Message: "the plugin's state for this session is lost, since " + why + ": the next call begins without it"}
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
	return p.clean(c, &p.shelf)
}

// take removes and returns an instance, nil if there is none. why is set if it was evicted.
func (k *kept) take(key keptKey) (in *Instance, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.homes[key]; h != nil {
		k.remove(h)
		h.in.module.unuse() // the call uses it too
		return h.in, ""
	}
	if e := k.lost[key]; e != nil {
		why = e.Value.(keptLoss).why
		k.forget(e)
	}
	return nil, why
}

// Keep changes the limit set by EngineOptions.Kept; 0 means DefaultKept.
func (e *Engine) Keep(bytes uint64) {
	k := &e.kept
	k.mu.Lock()
	k.max = cmp.Or(bytes, DefaultKept)
	gone := k.fit()
	k.mu.Unlock()
	closeAll(gone)
}

// put keeps an instance, and evicts those over the budget.
func (k *kept) put(h *keeper) {
	h.bytes, h.used = h.in.size()+h.in.module.Beside+keptOverhead, time.Now()
	h.in.module.hold()
	k.mu.Lock()
	k.add(h)
	gone := k.fit()
	k.mu.Unlock()
	closeAll(gone)
}

// fit removes the instances over the budget and returns them.
func (k *kept) fit() (gone []*keeper) {
	for k.bytes > k.max {
		spare := k.spare()
		k.lose(spare, fmt.Sprintf("kept instances need more than %s together (limits.kept)", bytesText(k.max)))
		gone = append(gone, spare)
	}
	return gone
}

func (k *kept) add(h *keeper) {
	k.begin()
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

// spare returns the instance to evict: the least recently used one of the owner with the most bytes.
func (k *kept) spare() *keeper {
	var most *keptShare
	for _, s := range k.of {
		if most == nil || s.bytes > most.bytes {
			most = s
		}
	}
	return most.idle.Front().Value.(*keeper)
}

// lose evicts an instance and records it for the session's next call.
func (k *kept) lose(h *keeper, why string) {
	k.remove(h)
	k.record(h.key, why)
}

// record makes the next call of a session fail with the reason why its instance is gone.
func (k *kept) record(key keptKey, why string) {
	k.lost[key] = k.order.PushBack(keptLoss{key, why})
	if k.order.Len() > maxLost {
		k.forget(k.order.Front())
	}
}

// note is record for an instance that was in use.
func (k *kept) note(key keptKey, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin()
	k.record(key, why)
}

func (k *kept) begin() {
	if k.homes == nil {
		k.homes, k.of, k.lost = map[keptKey]*keeper{}, map[keptOwner]*keptShare{}, map[keptKey]*list.Element{}
	}
}

func (k *kept) forget(e *list.Element) {
	delete(k.lost, e.Value.(keptLoss).key)
	k.order.Remove(e)
}

// arm schedules trim. The caller holds mu.
func (k *kept) arm() {
	if k.timer == nil && len(k.homes) > 0 {
		k.timer = time.AfterFunc(idleSession, k.trim)
	}
}

// trim evicts session instances that were idle for idleSession; those of StatePlugin stay.
func (k *kept) trim() {
	var gone []*keeper
	k.mu.Lock()
	k.timer = nil
	for _, h := range k.homes {
		if h.owner.pool == nil && time.Since(h.used) >= idleSession {
			k.lose(h, "it was idle for an hour")
			gone = append(gone, h)
		}
	}
	k.arm()
	k.mu.Unlock()
	closeAll(gone)
}

// drop closes the instances of a pool that has no call in progress.
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
		h.in.module.unuse()
	}
}
