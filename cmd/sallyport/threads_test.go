package main

import (
	goruntime "runtime"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// A thread is left for the network while a plugin runs as many calls as it may by default, which stays the number for
// the cores of the machine. An operator's own number stays.
func TestRaiseThreads_leavesAThreadForTheNetwork(t *testing.T) {
	calls, before := runtime.DefaultConcurrency(), goruntime.GOMAXPROCS(0)
	defer goruntime.GOMAXPROCS(before)
	for _, c := range []struct {
		setting   string
		now, want int
	}{{"", 1, calls + 1}, {"", calls + 5, calls + 5}, {"1", 1, 1}} {
		t.Setenv("GOMAXPROCS", c.setting)
		goruntime.GOMAXPROCS(c.now)
		raiseThreads()
		if got := goruntime.GOMAXPROCS(0); got != c.want {
			t.Errorf("GOMAXPROCS=%s, %d threads before: got %d, want %d", c.setting, c.now, got, c.want)
		}
		if got := runtime.DefaultConcurrency(); got != calls {
			t.Errorf("got %d calls at once, want %d as before", got, calls)
		}
	}
}
