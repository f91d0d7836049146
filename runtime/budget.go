package runtime

import (
	"cmp"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	// maxLoaded is the largest default of EngineOptions.Loaded: some 30 plugins in Go.
	maxLoaded = 512 << 20
	// restShare is the share of the limit that stays loaded while nothing is called.
	restShare = 8
	// aheadShare of the limit, in quarters, may be loaded before the first calls.
	aheadShare = 3
	// idleCode is how long unused code stays loaded beyond the rest; loading it takes some 20 ms.
	idleCode = 30 * time.Second
	// maxGarbage is the size of unloaded code, in bytes, after which it is collected at once: the garbage collector does
	// not see the machine code.
	maxGarbage = 64 << 20
)

// budget bounds the memory of the code and the images of all plugins together. Over it, the longest unused code that no
// call uses and that no session holds is unloaded, and so is code that was idle for idleCode, down to a rest.
type budget struct {
	engine *Engine

	fitting sync.Mutex // held while code is unloaded

	mu      sync.Mutex
	max     uint64
	all     map[string]*code // by digest
	timer   *time.Timer      // runs while something can expire
	garbage uint64           // bytes of machine code that were unloaded and not collected
}

// HasRoom reports whether code may be loaded ahead of its first call: a quarter of the limit is left to the others.
func (e *Engine) HasRoom() bool {
	b := &e.loaded
	b.mu.Lock()
	limit := b.max
	b.mu.Unlock()
	_, size := b.idle()
	return size < limit/4*aheadShare
}

// LimitLoaded changes the limit set by EngineOptions.Loaded; 0 means the default.
func (e *Engine) LimitLoaded(bytes uint64) {
	b := &e.loaded
	b.mu.Lock()
	b.max = cmp.Or(bytes, defaultLoaded())
	b.mu.Unlock()
	if ok, _ := e.users.enter(-1); ok {
		defer e.users.leave()
		b.fit()
	}
}

// find returns the code with a digest, with a new reference; nil if there is none.
func (b *budget) find(digest string) *code {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.all[digest]; c != nil && c.retain() {
		return c
	}
	return nil
}

// add adds new code and returns it, or returns equal code that was added meanwhile, with a new reference.
func (b *budget) add(c *code) (in *code, added bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if other := b.all[c.digest]; other != nil && other.retain() {
		return other, false
	}
	b.all[c.digest] = c
	return c, true
}

// unused is code that may be unloaded.
type unused struct {
	code  *code
	since time.Time
}

// idle returns the loaded code that is not in use, longest unused first, and the size of all that is loaded.
func (b *budget) idle() (all []unused, size uint64) {
	b.mu.Lock()
	codes := make([]*code, 0, len(b.all))
	for _, c := range b.all {
		codes = append(codes, c)
	}
	b.mu.Unlock()
	for _, c := range codes {
		size += c.size()
		if since, ok := c.idleSince(); ok {
			all = append(all, unused{c, since})
		}
	}
	slices.SortFunc(all, func(x, y unused) int { return x.since.Compare(y.since) })
	return all, size
}

// fit unloads code until the rest is within the limit. The caller keeps the engine open.
func (b *budget) fit() {
	b.mu.Lock()
	limit := b.max
	b.mu.Unlock()
	b.shrink(limit, time.Time{})
	b.arm()
}

// shrink unloads the longest unused code until at most limit bytes are loaded. Code that was used after a time stays,
// unless that is zero. It returns the size of all that is loaded then.
func (b *budget) shrink(limit uint64, until time.Time) (size uint64) {
	b.fitting.Lock()
	defer b.fitting.Unlock()
	all, size := b.idle()
	for _, u := range all {
		if size <= limit || !until.IsZero() && u.since.After(until) {
			break
		}
		freed := u.code.unload()
		size -= min(freed, size)
		b.collect(freed)
	}
	return size
}

// collect starts a garbage collection if much code was unloaded since the last one.
func (b *budget) collect(freed uint64) {
	b.mu.Lock()
	b.garbage += freed
	much := b.garbage >= maxGarbage
	if much {
		b.garbage = 0
	}
	b.mu.Unlock()
	if !much {
		return
	}
	if ok, _ := b.engine.users.enter(-1); ok {
		go func() {
			defer b.engine.users.leave()
			goruntime.GC()
		}()
	}
}

// arm schedules trim.
func (b *budget) arm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer == nil && len(b.all) > 0 {
		b.timer = time.AfterFunc(idleCode, b.trim)
	}
}

// trim unloads code that was idle for idleCode, and returns its memory to the system.
func (b *budget) trim() {
	if ok, _ := b.engine.users.enter(-1); !ok {
		return
	}
	defer b.engine.users.leave()
	b.mu.Lock()
	b.timer = nil
	rest := b.max / restShare
	b.mu.Unlock()
	_, before := b.idle()
	if before <= rest {
		return // the next load arms it
	}
	after := b.shrink(rest, time.Now().Add(-idleCode))
	if after > rest {
		b.arm()
	}
	if after < before {
		debug.FreeOSMemory()
	}
}

// stop ends the timer.
func (b *budget) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Stop()
	}
}

// defaultLoaded returns an eighth of the machine's memory, at most maxLoaded.
func defaultLoaded() uint64 {
	total := machineMemory()
	if total == 0 {
		return maxLoaded
	}
	return min(total/8, maxLoaded)
}
