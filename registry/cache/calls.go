package cache

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	// maxCalls is the count at which all counts are halved, so that former habits fade.
	maxCalls = 1 << 20
	// maxCallsFile limits the file of counts, in bytes.
	maxCallsFile = 2 << 20
)

// calls counts the calls of modules over all runs. The zero calls are not read yet.
type calls struct {
	read sync.Once

	mu sync.Mutex
	of map[string]uint64 // by digest
}

// cachedCalls is the JSON form of calls.json.
type cachedCalls struct {
	Version int               `json:"version"`
	Calls   map[string]uint64 `json:"calls"`
}

func (c *Cache) callsFile() string { return filepath.Join(c.dir, "calls.json") }

// Calls returns the number of calls of the module with a digest, in former runs and as recorded in this one.
func (c *Cache) Calls(digest string) uint64 {
	c.calls.read.Do(func() { c.calls.of = c.readCalls() })
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	return c.calls.of[digest]
}

// MostCalled returns the digests of the modules with the most calls, see Calls: n at most, and those with more first.
func (c *Cache) MostCalled(n int) []string {
	c.calls.read.Do(func() { c.calls.of = c.readCalls() })
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	all := slices.SortedFunc(maps.Keys(c.calls.of), func(x, y string) int {
		return cmp.Or(-cmp.Compare(c.calls.of[x], c.calls.of[y]), strings.Compare(x, y))
	})
	return all[:min(n, len(all))]
}

// AddCalls records further calls. Other processes record theirs in the same file: the counts of two that write at the same
// moment may be lost, which costs time only.
func (c *Cache) AddCalls(more map[string]uint64) {
	if c.dir == "" || len(more) == 0 {
		return
	}
	all := c.readCalls()
	for digest, n := range more {
		all[digest] += min(n, maxCalls)
	}
	fade(all)
	c.calls.read.Do(func() {})
	c.calls.mu.Lock()
	c.calls.of = all
	raw, err := json.Marshal(cachedCalls{Version: cacheVersion, Calls: all})
	c.calls.mu.Unlock()
	if err == nil {
		err = writeAtomic(c.callsFile(), raw)
	}
	if err != nil {
		c.log.Warn("the counts of calls were not stored", "error", err)
	}
}

// readCalls returns the stored counts; none if they are damaged.
func (c *Cache) readCalls() map[string]uint64 {
	var stored cachedCalls
	raw, err := readBounded(c.callsFile(), maxCallsFile)
	if c.dir == "" || err != nil || json.Unmarshal(raw, &stored) != nil || stored.Version != cacheVersion || stored.Calls == nil {
		return map[string]uint64{}
	}
	return stored.Calls
}

// fade halves all counts once one of them is large or there are too many, and drops those that reach zero.
func fade(all map[string]uint64) {
	for {
		large := len(all) > maxCached
		for _, n := range all {
			large = large || n > maxCalls
		}
		if !large {
			return
		}
		for digest, n := range all {
			if all[digest] = n / 2; n < 2 {
				delete(all, digest)
			}
		}
	}
}
