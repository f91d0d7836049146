package threads

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// clocked returns a count of five threads, the number that it sets, and a function that lets time pass.
func clocked() (c *count, threads *int, pass func(time.Duration)) {
	now := time.Unix(1, 0)
	threads = new(int)
	c = &count{set: func(n int) { *threads = n }, now: func() time.Time { return now }, start: func(change func()) { change() }}
	c.fit(5)
	return c, threads, func(d time.Duration) { now = now.Add(d) }
}

// One thread is left to the client whose connection alone had requests for a while. Anything else takes all of them, at
// once and for as long again.
func TestCount_leavesOneThreadToOneConnection(t *testing.T) {
	a, b := new(int), new(int)
	events := map[string]func(c *count){
		"another connection":               func(c *count) { c.request(b); c.request(a) },
		"a request that may overlap":       func(c *count) { c.request(nil); c.request(a) },
		"another one that may overlap":     func(c *count) { c.request(nil); c.request(nil); c.request(a) },
		"a guest that computes":            func(c *count) { c.busy() },
		"a compilation":                    func(c *count) { c.hold(1); c.hold(-1) },
		"a compilation in another's time":  func(c *count) { c.hold(1); c.hold(1); c.hold(-1); c.hold(-1) },
		"a server that begins to serve":    func(c *count) { c.fit(5) },
		"a guest that computes, then more": func(c *count) { c.busy(); c.request(b); c.request(a) },
	}
	for name, event := range events {
		c, threads, pass := clocked()
		expect := func(want int, when string) {
			t.Helper()
			if *threads != want {
				t.Errorf("%s: got %d threads %s, want %d", name, *threads, when, want)
			}
		}
		for range 2 {
			c.request(a)
			pass(quiet - 1)
			c.request(a)
			expect(5, "before the quiet time is over")
			pass(1)
			c.request(a)
			expect(1, "after the quiet time")
			pass(time.Hour)
			c.request(a)
			expect(1, "later")
			event(c)
			expect(5, "after the event")
		}
	}
}

func TestCount_holdsAllThreadsForACompilation(t *testing.T) {
	a := new(int)
	c, threads, pass := clocked()
	c.request(a)
	c.hold(1)
	for range 3 {
		pass(quiet)
		c.request(a)
		if *threads != 5 {
			t.Fatalf("got %d threads in a compilation, want 5", *threads)
		}
	}
	c.hold(-1)
	pass(quiet)
	c.request(a)
	if *threads != 1 {
		t.Errorf("got %d threads after it, want 1", *threads)
	}
}

// A collection of garbage delays a change until its end, and nothing waits for that. What is wanted then is set at last.
func TestCount_nothingWaitsForAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collected, set, now := make(chan bool), make(chan int, 10), time.Unix(1, 0)
		c := &count{now: func() time.Time { return now }, start: func(change func()) { go change() }, set: func(n int) { <-collected; set <- n }}
		a, b := new(int), new(int)
		go c.fit(5)
		collected <- true
		synctest.Wait()
		c.request(a)
		now = now.Add(quiet)
		c.request(a)
		synctest.Wait()
		c.request(b)
		c.busy()
		c.hold(1)
		c.hold(-1)
		close(collected)
		synctest.Wait()
		close(set)
		var got []int
		for n := range set {
			got = append(got, n)
		}
		if want := []int{5, 1, 5}; !slices.Equal(got, want) {
			t.Errorf("set %d threads, want %d", got, want)
		}
	})
}

// Without a call of fit nothing is set.
func TestCount_needsFit(t *testing.T) {
	c := &count{set: func(n int) { t.Errorf("set %d threads", n) }, now: func() time.Time { return time.Unix(1, 0) }}
	a := new(int)
	for range 3 {
		c.request(a)
		c.request(nil)
		c.hold(1)
		c.hold(-1)
	}
}

// More threads than the most stay. An operator's own number stays.
func TestFit(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, c := range []struct {
		setting         string
		now, most, want int
	}{{"", 1, 5, 5}, {"", 8, 5, 8}, {"1", 1, 5, 1}} {
		t.Setenv("GOMAXPROCS", c.setting)
		runtime.GOMAXPROCS(c.now)
		Fit(c.most)
		if got := runtime.GOMAXPROCS(0); got != c.want {
			t.Errorf("GOMAXPROCS=%s, %d threads before: got %d, want %d", c.setting, c.now, got, c.want)
		}
	}
}
