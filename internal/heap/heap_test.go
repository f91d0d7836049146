package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// percent returns the growth that is in force.
func percent() int {
	mu.Lock()
	defer mu.Unlock()
	p := debug.SetGCPercent(leastGC)
	debug.SetGCPercent(p)
	return p
}

// Garbage is collected later while the program starts, and as usual afterwards. An operator's own setting stays.
func TestDelayCollection_endsWithTheStart(t *testing.T) {
	large := make([]byte, 2*floor)
	runtime.GC()
	for setting, want := range map[string]int{"": mostGC, "70": 70} {
		after := leastGC
		if setting != "" {
			after = want
		}
		t.Setenv("GOGC", setting)
		begin(after)
		end := DelayCollection()
		if got := percent(); got != want {
			t.Errorf("GOGC=%s, at the start: got %d per cent, want %d", setting, got, want)
		}
		end()
		if got := percent(); got != after {
			t.Errorf("GOGC=%s, after the start: got %d per cent, want %d", setting, got, after)
		}
	}
	runtime.KeepAlive(large)
}

// begin sets a growth that stays.
func begin(percent int) {
	mu.Lock()
	defer mu.Unlock()
	usual, now = false, percent
	debug.SetGCPercent(percent)
}

func TestGrowth(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 3 << 20: 400, 4 << 20: 300, 5 << 20: 250, 8 << 20: 100, 1 << 30: 100} {
		if got := growth(live); got != want {
			t.Errorf("growth(%d) = %d, want %d", live, got, want)
		}
	}
	for live := uint64(floor / 5); live < floor; live += 12345 { // at the most growth, Go's least heap is the floor
		if next := live + live*uint64(growth(live))/100; growth(live) < mostGC && next < floor {
			t.Fatalf("a heap of %d bytes is collected at %d, want %d or more", live, next, floor)
		}
	}
}

// The growth follows a heap that becomes large, and small again.
func TestCollectAsUsual_followsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	begin(leastGC)
	CollectAsUsual()
	for range 2 {
		awaitGrowth(t, mostGC)
		large := make([]byte, 4*floor)
		awaitGrowth(t, leastGC)
		runtime.KeepAlive(large)
	}
}

// awaitGrowth collects garbage until the growth is one. A finalizer sets it, on a goroutine of its own.
func awaitGrowth(t *testing.T, want int) {
	t.Helper()
	for range 100_000 {
		if percent() == want {
			return
		}
		runtime.GC()
		runtime.Gosched()
	}
	t.Fatalf("got %d per cent after 100,000 collections, want %d", percent(), want)
}
