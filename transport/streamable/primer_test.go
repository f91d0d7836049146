package streamable

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Each call is primed after its own primeAfter, although one timer serves all, and none that has ended.
func TestPrimer_primesEachCallAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p primer
		s := &session{}
		var all []*pendingCall
		for range 4 {
			c := &pendingCall{session: s, begun: time.Now(), over: true} // takeOver does nothing then
			p.add(c)
			all = append(all, c)
			time.Sleep(primeAfter / 4)
		}
		p.remove(all[2])
		watched := func() (n []int) {
			p.mu.Lock()
			defer p.mu.Unlock()
			for i, c := range all {
				if c.place != nil {
					n = append(n, i)
				}
			}
			return n
		}
		synctest.Wait()
		for _, want := range [][]int{{1, 3}, {3}, {3}, nil} {
			if got := watched(); !slices.Equal(got, want) {
				t.Errorf("%v after the first call: got calls %v that are not primed, want %v", time.Since(all[0].begun), got, want)
			}
			time.Sleep(primeAfter / 4)
			synctest.Wait()
		}
		if p.armed {
			t.Error("got a timer without calls, want none")
		}
		p.add(&pendingCall{session: s, begun: time.Now(), over: true})
		time.Sleep(primeAfter)
		synctest.Wait()
		if p.calls.Len() != 0 || p.armed {
			t.Errorf("got %d calls that are not primed, timer %v; want none", p.calls.Len(), p.armed)
		}
	})
}
