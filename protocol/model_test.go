package protocol_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

var (
	modelSeed = flag.Uint64("model.seed", 1, "the first schedule of the model test")
	modelRuns = flag.Uint64("model.n", 1000, "how many schedules the model test runs")
)

// TestModel checks three invariants under faults: each mutating request is sent at most once per call, each request
// that arrived is named in the call's last answer, and files and keys are committed atomically. A schedule is a
// random program with random faults. To repeat a failed one, use -run TestModel -model.seed N -model.n 1.
func TestModel(t *testing.T) {
	var total tally
	var next atomic.Uint64
	var work sync.WaitGroup
	for range min(*modelRuns, 2*uint64(goruntime.GOMAXPROCS(0))) { // each often waits for I/O
		work.Go(func() {
			w := newWorld(t)
			for !t.Failed() {
				n := next.Add(1)
				if n > *modelRuns {
					return
				}
				w.run(*modelSeed+n-1, &total)
				if n%10_000 == 0 {
					fmt.Println("schedules:", n)
				}
			}
		})
	}
	work.Wait()
	total.print(fmt.Sprintf("model of at most once, seeds %d to %d", *modelSeed, *modelSeed+*modelRuns-1))
}

// print prints the final table.
func (t *tally) print(title string) {
	fmt.Println(title)
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Printf("  %-60s %8d\n", what, t.counts[what])
	}
}

// run runs one schedule.
func (w *world) run(seed uint64, total *tally) {
	s := newSchedule(w, seed)
	each(s.steps, s.prepare)
	w.current.Store(s)
	w.conclude(s, total, s.call)
}

// conclude completes a schedule and checks the invariants.
func (w *world) conclude(s *schedule, total *tally, call func()) {
	call()
	w.current.Store(nil)
	w.reap()
	s.mu.Lock()
	defer s.mu.Unlock()
	doubled, lost := s.doubled(), s.unsaid()
	torn := s.torn()
	total.add("schedules", 1)
	total.add("requests that change something", len(s.arrived))
	total.add("doubled", len(doubled))
	total.add("lost without a word", len(lost))
	total.add("files and keys apart", len(torn))
	if s.final == "" {
		total.add("client that cannot ask again", 1)
	}
	for f, n := range s.happened {
		total.add("fault: "+string(f), n)
	}
	if len(doubled)+len(lost)+len(torn) > 0 {
		w.t.Errorf("seed %d: doubled %q, lost without a word %q, apart %q\nprogram %+v\nkey %q\n%s\nlast word: %s",
			s.seed, doubled, lost, torn, s.steps, s.key, strings.Join(s.heard, "\n"), s.final)
	}
	for _, folder := range []string{"files", "direct"} {
		_ = os.RemoveAll(filepath.Join(w.dir, folder, s.dir))
	}
}

// doubled returns the requests that arrived more than once.
func (s *schedule) doubled() (all []string) {
	for id, n := range s.arrived {
		if n > 1 {
			all = append(all, fmt.Sprintf("%s %d times", id, n))
		}
	}
	return all
}

// unsaid returns the requests that arrived and are not named in the call's last answer.
func (s *schedule) unsaid() (all []string) {
	if s.final == "" || strings.Contains(s.final, "requestState was used already") {
		return nil // the answer says that the call was made and is over
	}
	for id := range s.arrived {
		if !word(s.final, id) {
			all = append(all, id)
		}
	}
	return all
}

// word reports whether a text contains a word.
func word(text, want string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }), want)
}

// torn returns changes of files and keys that violate atomicity: those present while others are missing, or present
// twice. No change of a failed call may be present.
func (s *schedule) torn() (all []string) {
	var there, missing []string
	s.expected(s.steps, "p", func(one step, plugin string) {
		n := s.there(one, plugin)
		switch {
		case n == 1:
			there = append(there, one.ID)
		case n == 0:
			missing = append(missing, one.ID)
		default:
			all = append(all, fmt.Sprintf("%s %d times", one.ID, n))
		}
	})
	failed := strings.Contains(s.final, `"isError":true`)
	succeeded := strings.Contains(s.final, `"isError":false`) || strings.Contains(s.final, `"resultType":"complete"`) && !failed && s.tool == "p-run"
	switch {
	case len(there) > 0 && len(missing) > 0:
		all = append(all, fmt.Sprintf("there %q, missing %q", there, missing))
	case succeeded && len(missing) > 0:
		all = append(all, fmt.Sprintf("it succeeded without %q", missing))
	}
	return all
}

// expected calls f for each step with a change that is committed with the call.
func (s *schedule) expected(list []step, plugin string, f func(step, string)) {
	for _, one := range list {
		if one.Op == opNo || one.Op == opTrap {
			return
		}
	}
	for _, one := range list {
		switch one.Op {
		case opKey, opCount, opWrite, opAppend, opRemove, opMove:
			f(one, plugin)
		case opDirect:
			if plugin == "p" { // it may be replayed, and so writes nothing directly
				f(one, plugin)
			} else if n := s.there(one, plugin); n > 1 {
				f(one, plugin)
			}
		case opRound:
			s.expected(one.Of, plugin, f)
		case opCall:
			if last := one.Of[len(one.Of)-1].Op; last != opNo && last != opTrap {
				s.expected(one.Of, "q", f)
			}
		}
	}
}

// there counts how often the change of a step is present.
func (s *schedule) there(one step, plugin string) int {
	folder := "files"
	switch one.Op {
	case opKey, opCount:
		item, err := s.w.all()[0].store.Value(context.Background(), store.Space{Plugin: plugin, Principal: s.who}, s.dir+"/"+one.ID)
		if errors.Is(err, store.ErrNotFound) {
			return 0
		}
		if err != nil {
			s.w.t.Error(err)
		}
		n := 0
		_, _ = fmt.Sscan(string(item.Value), &n)
		return n
	case opDirect:
		folder = "direct"
	}
	path := filepath.Join(s.w.dir, folder, s.dir, one.ID)
	raw, err := os.ReadFile(path)
	switch one.Op {
	case opRemove, opMove:
		moved, _ := os.ReadFile(path + "-moved")
		if one.Op == opMove && (err == nil) == (string(moved) == "0") {
			return 2 // in both places, or in neither
		}
		if err != nil {
			return 1
		}
		return 0
	}
	return strings.Count(string(raw), "x")
}
