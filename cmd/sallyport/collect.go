package main

import (
	"os"
	"runtime/debug"
	"time"
)

const (
	// startGC is the growth of the heap until a collection while a host starts, in per cent.
	startGC = 400
	// startTime is the time until a started host collects garbage as usual.
	startTime = 5 * time.Second
	// usualGC is the growth of the heap until a collection that Go begins with.
	usualGC = 100
)

// delayCollections lets the heap grow to 16 MB before the first collection. That of a starting host was collected five times
// before the first call otherwise, while nearly all of it was in use. GOGC in the environment stays as it is. The caller
// calls end when the host stops.
func delayCollections() (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(startGC)
	usual := func() { debug.SetGCPercent(usualGC) }
	timer := time.AfterFunc(startTime, usual)
	return func() {
		if timer.Stop() {
			usual()
		}
	}
}
