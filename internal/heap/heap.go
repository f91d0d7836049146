// Package heap sets how far the heap grows between two collections of garbage. While a program starts, nearly all of a
// small heap is in use, and Go would collect it five times before a host's first call. Later a host keeps a few megabytes,
// and would collect them after each two hundred calls.
//
// The delay of the start begins while packages are initialized. Go initializes those whose imports are done in the order of
// their paths, so this one has to import little, and comes before the libraries that fill the heap.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// floor is the size in bytes up to which a heap grows without a collection.
	floor = 16 << 20
	// mostGC is the growth of the heap until a collection at the start, in per cent, and later of a small heap. Go's
	// least heap is 4 MiB at 100 per cent, so the floor at this.
	mostGC = 400
	// leastGC is that growth of a large heap, and that which Go begins with.
	leastGC = 100
	// startTime is the time until a started host collects garbage as usual.
	startTime = 5 * time.Second
)

var (
	mu      sync.Mutex
	now     int  // the growth that is set
	usual   bool // the growth follows the heap
	watched bool // watch was called
)

func init() { set(mostGC) }

// set sets the growth of the heap until a collection. GOGC in the environment stays as it is.
func set(percent int) {
	if now != percent && os.Getenv("GOGC") == "" {
		now = percent
		debug.SetGCPercent(percent) // stops all goroutines for a moment
	}
}

// CollectAsUsual ends the delay of the start: from now on a heap is collected once it has doubled, and is over the floor.
func CollectAsUsual() {
	mu.Lock()
	defer mu.Unlock()
	usual = true
	set(growth(live()))
	if !watched {
		watched = true
		watch(&collected{})
	}
}

// DelayCollection begins another delay, which ends with end or after a time.
func DelayCollection() (end func()) {
	mu.Lock()
	defer mu.Unlock()
	usual = false
	set(mostGC)
	timer := time.AfterFunc(startTime, CollectAsUsual)
	return func() {
		if timer.Stop() {
			CollectAsUsual()
		}
	}
}

// collected is garbage at each collection.
type collected struct{ _ [2]uintptr }

// watch adapts the growth of the heap after each collection.
func watch(c *collected) {
	runtime.SetFinalizer(c, func(c *collected) {
		mu.Lock()
		defer mu.Unlock()
		if usual {
			set(growth(live()))
		}
		watch(c)
	})
}

// live returns the bytes that the last collection left.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// growth returns the growth in per cent after which a heap is twice as large, or as large as the floor, in steps so that it
// changes rarely.
func growth(live uint64) int {
	if live == 0 {
		return mostGC
	}
	const step = 50
	steps := int((floor*100/step + live - 1) / live) // rounded up
	return min(max(steps*step-100, leastGC), mostGC)
}
