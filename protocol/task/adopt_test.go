package task

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

// A runner looks at its tasks each second while there are any that run, are watched or in doubt. Otherwise its only timer is
// that of the search for orphans.
func TestRunner_looksEachSecondOnlyAtTasks(t *testing.T) {
	clock := storetest.NewClock(time.Now())
	asks := make(chan struct{})
	r := NewRunner(RunnerOptions{Keys: sealed.Random(), Now: clock.Now, Log: slog.New(slog.DiscardHandler), Store: storetest.Open(t, storetest.Options(t, t.TempDir())),
		Run: func(context.Context, *Task) Outcome {
			<-asks
			return response(`{"resultType":"input_required","requestState":"S","inputRequests":{"k":{}}}`)
		}})
	timers, fires := make(chan time.Duration), make(chan time.Time)
	r.after = func(d time.Duration) <-chan time.Time {
		select {
		case timers <- d:
		case <-r.ctx.Done():
		}
		return fires
	}
	fire := func() {
		for {
			select {
			case fires <- time.Time{}:
				return
			case <-timers: // a notice of the store ended the wait for the timer before
			}
		}
	}
	next := func() time.Duration {
		for {
			d := <-timers
			if d != noticePause { // of a store with notices
				return d
			}
			fire()
		}
	}
	want := func(when string, d time.Duration) {
		t.Helper()
		if got := next(); got != d {
			t.Errorf("%s: got a timer of %v, want %v", when, got, d)
		}
	}
	settles := func() {
		for d := watchEvery; d == watchEvery; d = next() {
			clock.Pass(countEvery)
			fire()
		}
	}
	r.Start()
	defer r.Close()
	want("at the start", adoptEvery)
	x, err := r.Open(t.Context(), New{Durable: true, Spec: Spec{Principal: "ada", Params: json.RawMessage(`{}`)}}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	want("when a task begins", watchEvery)
	fire()
	want("while it runs", watchEvery)
	close(asks)
	settles()
	stop, err := r.Book.Watch(t.Context(), "ada", x.ID, func(Task) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want("when a task is watched", watchEvery)
	stop()
	settles()
	r.News()
	want("with news", adoptEvery)
}
