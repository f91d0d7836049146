// Package heap delays the collection of garbage while the program starts: nearly all of a small heap is in use then, and
// was collected five times before a host's first call.
//
// The delay begins while packages are initialized. Go initializes those whose imports are done in the order of their paths,
// so this one has to import little, and comes before the libraries that fill the heap.
package heap

import (
	"os"
	"runtime/debug"
	"time"
)

const (
	// startGC is the growth of the heap until a collection at the start, in per cent: a heap of 16 MB is the first.
	startGC = 400
	// startTime is the time until a started host collects garbage as usual.
	startTime = 5 * time.Second
	// usualGC is the growth of the heap until a collection that Go begins with.
	usualGC = 100
)

func init() { set(startGC) }

// set sets the growth of the heap until a collection. GOGC in the environment stays as it is.
func set(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// CollectAsUsual ends the delay, for programs that may use much memory at once.
func CollectAsUsual() { set(usualGC) }

// DelayCollection begins another delay, which ends with end or after a time.
func DelayCollection() (end func()) {
	set(startGC)
	timer := time.AfterFunc(startTime, CollectAsUsual)
	return func() {
		if timer.Stop() {
			CollectAsUsual()
		}
	}
}
