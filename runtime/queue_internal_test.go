package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is a set of callers of a queue, in a synctest bubble.
type crowd struct {
	t *testing.T
	q *queue
	// served are the names of the calls that got their turns, in order.
	mu     sync.Mutex
	served []string
}

// visit is one call in the crowd.
type visit struct {
	ticket *ticket
	err    error
	leave  context.CancelFunc // before it has its turn
	done   atomic.Bool
}

func inCrowd(t *testing.T, l Limits, f func(c *crowd), classes ...Limits) {
	synctest.Test(t, func(t *testing.T) { f(&crowd{t: t, q: newQueue(termsOf(l, classes))}) })
}

// come starts a call, and returns when it has its turn, is rejected or waits.
func (c *crowd) come(name string, t ticket) *visit {
	ctx, leave := context.WithCancel(c.t.Context())
	v := &visit{ticket: &t, leave: leave}
	go func() {
		defer leave()
		if v.err = c.q.enter(ctx, context.Background(), v.ticket, true); v.err == nil {
			c.mu.Lock()
			c.served = append(c.served, name)
			c.mu.Unlock()
		}
		v.done.Store(true)
	}()
	synctest.Wait()
	return v
}

// tools starts n calls of a caller.
func (c *crowd) tools(caller string, n int) (all []*visit) {
	for i := range n {
		all = append(all, c.come(caller, ticket{who: holder{caller: caller, tool: true}, session: fmt.Sprint(i % 2)}))
	}
	return all
}

// end ends the turn of a call.
func (c *crowd) end(v *visit) {
	c.t.Helper()
	if !v.done.Load() || v.err != nil {
		c.t.Fatalf("end: got turn %v, %v; want true, no error", v.done.Load(), v.err)
	}
	c.q.leave(v.ticket)
	synctest.Wait()
}

// drain ends all turns until no call waits.
func (c *crowd) drain(all ...[]*visit) {
	open := slices.Concat(all...)
	for len(open) > 0 {
		i := slices.IndexFunc(open, func(v *visit) bool { return v.done.Load() })
		if i < 0 {
			c.t.Fatalf("got %d waiting and none running, want one running", len(open))
		}
		if open[i].err == nil {
			c.end(open[i])
		}
		open = slices.Delete(open, i, i+1)
	}
	c.empty()
}

// empty checks that the queue holds no state of earlier calls.
func (c *crowd) empty() {
	c.t.Helper()
	for _, l := range []*line{&c.q.plain, &c.q.tasks} {
		if l.running != 0 || l.waiting != 0 || len(l.held) != 0 || len(l.shares) != 0 || l.order.Len() != 0 || l.back.Len() != 0 ||
			slices.ContainsFunc(l.classes, func(c class) bool { return c.running != 0 || c.waiting != 0 }) {
			c.t.Errorf("got %+v left, want an empty line", l)
		}
	}
	if len(c.q.busy) != 0 || c.q.away != 0 {
		c.t.Errorf("got busy %v, %d away; want none", c.q.busy, c.q.away)
	}
}

func (c *crowd) order(want string) {
	c.t.Helper()
	if got := strings.Join(c.served, ""); got != want {
		c.t.Errorf("served in the order %s, want %s", got, want)
	}
}

// Callers take turns: one call waits for one call of each other caller, not for their backlogs.
func TestQueue_callersTakeTurns(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 1}, func(c *crowd) {
		first := c.come("-", ticket{who: holder{caller: "x", tool: true}})
		spare := c.come("-", ticket{who: holder{caller: "y", tool: true}})
		many, other, one := c.tools("a", 6), c.tools("b", 2), c.tools("c", 1)
		c.drain([]*visit{first, spare}, many, other, one)
		c.order("--abcabaaaa")
	})
}

// The sessions of one caller take turns, since a caller may be all clients of a machine.
func TestQueue_sessionsOfACallerTakeTurns(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 1}, func(c *crowd) {
		all := []*visit{c.come("-", ticket{who: holder{caller: "a", tool: true}})}
		for _, session := range []string{"1", "1", "1", "2", "2", "3"} {
			all = append(all, c.come(session, ticket{who: holder{caller: "a", tool: true}, session: session}))
		}
		c.drain(all)
		c.order("-123121")
	})
}

// Long calls of a caller starve neither another caller nor its own calls of the other kind.
func TestQueue_longCallsStarveNoCaller(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 4}, func(c *crowd) {
		sleepers := c.tools("a", 20)
		resource := c.come("a's resource", ticket{who: holder{caller: "a", tool: false}})
		other := c.come("b", ticket{who: holder{caller: "b", tool: true}})
		third := c.come("c", ticket{who: holder{caller: "c", tool: true}}) // four and half of four are taken
		more := c.come("b again", ticket{who: holder{caller: "b", tool: true}})
		c.order("aaaaa's resourceb")
		c.end(resource)
		c.order("aaaaa's resourcebc")
		c.end(other)
		if !more.done.Load() {
			t.Error("got b's next waiting with nothing of b's running, want it running")
		}
		c.drain([]*visit{third, more}, sleepers)
	})
}

// Tasks and plain calls do not wait for each other, and tasks of callers take turns too.
func TestQueue_tasksAndPlainCallsDoNotWaitForEachOther(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 2, Queue: 1, Wait: time.Second}, func(c *crowd) {
		var tasks []*visit
		for range 80 {
			tasks = append(tasks, c.come("t", ticket{who: holder{caller: "a", tool: true}, patient: true}))
		}
		tasks = append(tasks, c.come("T", ticket{who: holder{caller: "b", tool: true}, patient: true}))
		plain := c.come("p", ticket{who: holder{caller: "b", tool: true}})
		c.order("ttp")
		time.Sleep(24 * time.Hour) // tasks wait without limit
		c.end(tasks[0])
		c.end(tasks[1])
		c.order("ttptT")
		c.drain([]*visit{plain}, tasks[2:])
	})
}

// TestQueue_refusesTheNewestCallOfTheLargestCaller checks the limit of the queue. Over it the newest call of the
// caller with the most is rejected, and told when to retry.
func TestQueue_refusesTheNewestCallOfTheLargestCaller(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 1, Queue: 4}, func(c *crowd) {
		all := c.tools("x", 1)
		all = append(all, c.tools("y", 1)...) // the spare place
		waiting := c.tools("a", 4)
		over := c.tools("a", 1)[0]
		busy := func(v *visit) {
			t.Helper()
			var end *EndError
			var b *BusyError
			if !v.done.Load() || !errors.As(v.err, &end) || end.Kind != KindLimit || !errors.As(v.err, &b) || b.After != time.Second ||
				end.Message != "too many calls: 2 run and 4 wait (limits.queue): try again" {
				t.Errorf("got done %v, %v; want true, a limit of 2 running and 4 waiting to try again after 1 s", v.done.Load(), v.err)
			}
		}
		busy(over)
		other := c.tools("b", 2)
		busy(waiting[3])
		busy(waiting[2])
		third := c.tools("b", 1)[0]
		busy(third)
		all = append(append(all, waiting[:2]...), other...)
		c.drain(all)
	})
}

// Without a queue no call waits.
func TestQueue_ofLengthZeroRefusesAtOnce(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 1, Queue: -1}, func(c *crowd) {
		all := c.tools("a", 2)
		if !all[1].done.Load() || all[1].err == nil {
			t.Errorf("got done %v, %v; want true, an error", all[1].done.Load(), all[1].err)
		}
		c.drain(all)
	})
}

// A call waits for limits.wait, and not longer than its caller.
func TestQueue_limitsTheWait(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 1, Wait: time.Minute}, func(c *crowd) {
		runs := c.tools("a", 1)[0]
		late, gone := c.tools("a", 1)[0], c.tools("a", 1)[0]
		gone.leave()
		synctest.Wait()
		if !errors.Is(gone.err, context.Canceled) {
			t.Errorf("got %v, want %v", gone.err, context.Canceled)
		}
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if late.done.Load() {
			t.Fatalf("got %v before the end of limits.wait, want a waiting call", late.err)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		var b *BusyError
		if !errors.As(late.err, &b) || late.err.Error() != "limit: the call waited 1m0s for its turn (limits.wait), and has not begun: try again" {
			t.Errorf("got %v, want a BusyError that names limits.wait", late.err)
		}
		c.drain([]*visit{runs})
	})
}

// A kept instance serves one call at a time. The calls that wait for it hold no place, and block no other call.
func TestQueue_keptInstanceServesOneCallAtATime(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 2}, func(c *crowd) {
		kept := func(name, session string) *visit {
			return c.come(name, ticket{who: holder{caller: "a", tool: true}, session: session, kept: true, instance: session})
		}
		first, second, third := kept("1", "s"), kept("2", "s"), kept("3", "s")
		other := kept("o", "t")
		c.order("1o")
		c.end(first)
		c.order("1o2")
		c.end(second)
		c.end(other)
		c.order("1o23")
		c.drain([]*visit{third})
	})
}

// Tasks and plain calls for the same kept instance take turns.
func TestQueue_tasksAndPlainCallsShareAKeptInstance(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 4}, func(c *crowd) {
		var all []*visit
		for range 5 {
			all = append(all, c.come("t", ticket{who: holder{caller: "a", tool: true}, patient: true, kept: true}))
		}
		for range 3 {
			all = append(all, c.come("p", ticket{who: holder{caller: "b", tool: true}, kept: true}))
		}
		c.drain(all)
		c.order("tptptptt")
	})
}

// A call that returns from a pause precedes those that have not begun, and keeps its instance meanwhile.
func TestQueue_resumedCallsPrecedeNewOnes(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 1}, func(c *crowd) {
		asks := c.come("a", ticket{who: holder{caller: "a", tool: true}, kept: true, instance: "s"})
		if !c.q.pause(asks.ticket) {
			t.Fatal("pause = false, want true")
		}
		same := c.come("s", ticket{who: holder{caller: "a", tool: true}, kept: true, instance: "s"})
		runs, spare := c.come("b", ticket{who: holder{caller: "b", tool: true}}), c.come("c", ticket{who: holder{caller: "c", tool: true}})
		waits := c.come("d", ticket{who: holder{caller: "d", tool: true}})
		c.order("abc")
		back := false
		go func() {
			c.q.resume(c.t.Context(), asks.ticket)
			back = true
		}()
		synctest.Wait()
		if back {
			t.Error("got a turn while the other call runs, want none")
		}
		c.end(runs)
		if !back || waits.done.Load() {
			t.Errorf("got back %v, next %v; want true, false", back, waits.done.Load())
		}
		c.end(asks)
		c.drain([]*visit{spare, same, waits})
	})
}

// The callers of a class have their own Concurrency and Queue together, in turns, and wait for their own Wait. The places
// that they may not have are those of others.
func TestQueue_aClassIsBounded(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 4, Wait: time.Minute}, func(c *crowd) {
		intern := func(name string) *visit {
			return c.come(name, ticket{who: holder{caller: name, tool: true, class: 1}})
		}
		all := []*visit{intern("a"), intern("b"), intern("b"), intern("b")}
		others := c.tools("x", 3)
		c.order("axxx")
		task := c.come("t", ticket{who: holder{caller: "a", tool: true, class: 1}, patient: true})
		c.order("axxxt")
		over, turn := intern("b"), intern("c")
		var busy *BusyError
		for _, v := range []*visit{over, all[3]} { // the newest of the caller with the most makes room for c
			if !v.done.Load() || !errors.As(v.err, &busy) || !strings.Contains(v.err.Error(), "too many calls: 1 run and 3 wait (limits.for.queue): try again") {
				t.Errorf("got %v, want a BusyError that names limits.for.queue", v.err)
			}
		}
		c.end(all[0])
		c.order("axxxtb")
		c.end(all[1])
		c.order("axxxtbc")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if late := all[2]; !late.done.Load() || !errors.As(late.err, &busy) || late.err.Error() != "limit: the call waited 30s for its turn (limits.for.wait), and has not begun: try again" {
			t.Errorf("got %v, want a BusyError that names limits.for.wait", late.err)
		}
		c.drain(others, []*visit{task, turn})
	}, Limits{Concurrency: 1, Queue: 3, Wait: 30 * time.Second})
}

// A class without a Concurrency or Queue of its own has those of all, within which those of a class stay.
func TestQueue_aClassHasThePlacesOfAll(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 2, Queue: 1}, func(c *crowd) {
		var all []*visit
		for range 4 {
			all = append(all, c.come("a", ticket{who: holder{caller: "a", tool: true, class: 1}}))
		}
		c.order("aa")
		if all[2].err != nil || all[3].err == nil || !strings.Contains(all[3].err.Error(), "2 run and 1 wait (limits.queue)") {
			t.Errorf("got %v and %v, want one waiting call and an error that names limits.queue", all[2].err, all[3].err)
		}
		c.drain(all[:3])
	}, Limits{Deadline: time.Second}, Limits{Concurrency: 9})
}

// TestQueue_invariantsHoldUnderRandomCalls checks the invariants of the queue under random calls: limits hold, no
// kept instance serves two calls, no call waits that could run, and in the end every call was served or got an
// error.
func TestQueue_invariantsHoldUnderRandomCalls(t *testing.T) {
	for seed := range uint64(300) {
		l := Limits{Concurrency: 1 + int(seed%4), Queue: 5 + int(seed%7), Wait: time.Hour}
		inCrowd(t, l, func(c *crowd) {
			r := rand.New(rand.NewPCG(seed, 0))
			var all []*visit
			for range 120 {
				all = slices.DeleteFunc(all, func(v *visit) bool { return v.done.Load() && v.err != nil })
				switch n := r.IntN(10); {
				case n < 6:
					session := fmt.Sprint(r.IntN(3))
					caller := r.IntN(4)
					v := ticket{who: holder{caller: string(rune('a' + caller)), tool: r.IntN(3) > 0, class: caller / 2}, session: session, patient: r.IntN(5) == 0}
					if session != "0" { // since a plugin's calls of a session are all alike
						v.kept, v.instance = true, session
					}
					all = append(all, c.come("", v))
				case n < 9 && len(all) > 0:
					if i := r.IntN(len(all)); all[i].done.Load() {
						c.end(all[i])
						all = slices.Delete(all, i, i+1)
					}
				case len(all) > 0:
					all[r.IntN(len(all))].leave()
					synctest.Wait()
				}
				if problem := c.rules(all); problem != "" {
					t.Fatalf("seed %d: got %s, want no rule broken", seed, problem)
				}
			}
			c.drain(all)
		}, Limits{Concurrency: 1 + int(seed%3), Queue: 1 + int(seed%5)})
	}
}

// rules returns the first invariant that is violated, or "".
func (c *crowd) rules(all []*visit) string {
	busy, running := map[string]int{}, 0
	for _, v := range all {
		t := v.ticket
		if v.done.Load() && v.err == nil && t.kept {
			busy[t.instance]++
		}
		if v.done.Load() && v.err == nil && !t.patient {
			running++
		}
	}
	for instance, n := range busy {
		if n > 1 {
			return fmt.Sprintf("%d calls have the instance %q", n, instance)
		}
	}
	for _, v := range all {
		if l := c.q.line(v.ticket); !v.done.Load() && c.q.free(l, v.ticket) {
			return "somebody waits for whom there is a place"
		}
	}
	p := &c.q.plain
	if running != p.running || running > p.places+p.spare || p.waiting > c.q.terms[0].Queue {
		return fmt.Sprintf("%d run of %d, %d wait", running, p.running, p.waiting)
	}
	if own, counts := c.q.terms[1].own, p.classes[1]; counts.running > own.Concurrency || counts.waiting > own.Queue || c.q.tasks.classes[1].running > own.Concurrency {
		return fmt.Sprintf("of a class %+v and %+v", counts, c.q.tasks.classes[1])
	}
	return ""
}

// The engine counts the calls that wait, and the time that each waited, with a turn or without.
func TestQueue_countsWaits(t *testing.T) {
	inCrowd(t, Limits{Concurrency: 1, Wait: time.Minute}, func(c *crowd) {
		var waits []time.Duration
		c.q.load = &workload{waited: func(d time.Duration) { waits = append(waits, d) }}
		one, two := c.tools("a", 1)[0], c.tools("a", 1)[0]
		if got := c.q.load.waiting.Load(); got != 1 || waits != nil {
			t.Errorf("got %d waiting and waits %v, want 1 and none", got, waits)
		}
		time.Sleep(10 * time.Second)
		c.q.leave(one.ticket)
		synctest.Wait()
		c.tools("a", 1)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := c.q.load.waiting.Load(); got != 0 || len(waits) != 2 || waits[0] != 10*time.Second || waits[1] != time.Minute {
			t.Errorf("got %d waiting and waits %v, want 0 and those of 10 s and 1 m", got, waits)
		}
		c.q.leave(two.ticket)
	})
}

// A caller in two classes has no spare place beside a call of the other class.
func TestQueue_sparesNothingForAnotherClass(t *testing.T) {
	q := newQueue(termsOf(Limits{Concurrency: 1}, []Limits{{Deadline: time.Minute}}))
	for class, want := range []bool{true, false} {
		err := q.enter(t.Context(), context.Background(), &ticket{who: holder{caller: "ann", class: class}}, false)
		if (err == nil) != want {
			t.Errorf("class %d: got %v, want a turn: %v", class, err, want)
		}
	}
	if err := q.enter(t.Context(), context.Background(), &ticket{who: holder{caller: "bob"}}, false); err != nil {
		t.Errorf("got %v, want the spare place for another caller", err)
	}
}
