package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

// begin returns a runner of this function and a task opened in it.
func beginTask(t *testing.T, n New, run func(ctx context.Context, t *Task) Outcome) (*Runner, Task) {
	t.Helper()
	r := NewRunner(RunnerOptions{Run: run, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	n.Principal, n.Params = "ada", json.RawMessage(`{"name":"x"}`)
	begun, err := r.Open(t.Context(), n, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return r, begun
}

func response(result string) Outcome {
	return Outcome{Body: []byte(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)}
}

func find(t *testing.T, r *Runner, id string) Task {
	t.Helper()
	found, err := r.Find(t.Context(), "ada", id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A task gets the outcome of its run.
func TestRunner_storesTheOutcome(t *testing.T) {
	for name, test := range map[string]struct {
		outcome Outcome
		kept    bool
		want    Status
		holds   string
	}{
		"result":   {outcome: response(`{"content":[]}`), want: Completed, holds: `{"content":[]}`},
		"error":    {outcome: Outcome{Body: []byte(`{"id":1,"error":{"code":-1,"message":"no"}}`), Err: &jsonrpc.Error{Message: "no"}}, want: Failed, holds: `"message":"no"`},
		"question": {outcome: response(`{"resultType":"input_required","requestState":"S","inputRequests":{"k":{"method":"roots/list"}}}`), want: Input},
		"stopped":  {want: Failed, holds: "the host was stopped"},
		"lost":     {kept: true, want: Failed, holds: `"retryable":true`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, begun := beginTask(t, New{Spec: Spec{Kept: test.kept}}, func(context.Context, *Task) Outcome { return test.outcome })
				defer r.Close()
				synctest.Wait()
				got := find(t, r, begun.ID)
				if said := string(got.Result) + string(got.Error); got.Status != test.want || !strings.Contains(said, test.holds) {
					t.Errorf("%s: got %s, want %s with %s", got.Status, said, test.want, test.holds)
				}
				if r.kept.n != 0 || len(r.running) != 0 {
					t.Errorf("got %d kept and %d running at the end, want none", r.kept.n, len(r.running))
				}
			})
		})
	}
}

// A task that asks is run again after the last answer, not earlier.
func TestAnswer_resumesAfterTheLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r, begun := beginTask(t, New{}, func(_ context.Context, x *Task) Outcome {
			if runs++; runs == 1 {
				return response(`{"resultType":"input_required","requestState":"S","inputRequests":{"a":{},"b":{}}}`)
			}
			return response(string(x.Next()))
		})
		defer r.Close()
		for want, key := range []string{"a", "none", "b"} {
			synctest.Wait()
			if runs != 1 {
				t.Errorf("it runs with %d answers", want)
			}
			if _, err := r.Answer(t.Context(), find(t, r, begun.ID), map[string]json.RawMessage{key: []byte(`{"n":1}`)}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := find(t, r, begun.ID); runs != 2 || !strings.Contains(string(got.Result), `"inputResponses":{"a":{"n":1},"b":{"n":1}},"requestState":"S"`) {
			t.Errorf("after %d runs: got %s, want both answers in the second", runs, got.Result)
		}
	})
}

// A kept task waits for answers within its run, up to a deadline.
func TestAsk_waitsWithinTheRunUntilItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		questions := jsonraw.Object{{Key: "k", Value: json.RawMessage(`{"method":"roots/list"}`)}}
		var r *Runner
		ready := make(chan struct{})
		r, begun := beginTask(t, New{Spec: Spec{Kept: true}}, func(ctx context.Context, x *Task) Outcome {
			<-ready
			answers, err := r.Ask(ctx, x, questions, time.Minute)
			if err != nil {
				return Outcome{Body: []byte(`{"error":{}}`), Err: &jsonrpc.Error{Message: err.Error()}}
			}
			_, err = r.Ask(ctx, x, questions, time.Minute)
			return response(fmt.Sprintf(`{"first":%s,"second":%q}`, answers["k"], err))
		})
		defer r.Close()
		close(ready)
		synctest.Wait()
		if _, err := r.Answer(t.Context(), find(t, r, begun.ID), map[string]json.RawMessage{"k": []byte(`{"n":1}`)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := find(t, r, begun.ID); !strings.Contains(string(got.Result), `{"first":{"n":1},"second":"timeout: no answer within 1m0s`) {
			t.Errorf("got %s: %s%s, want an answer and a timeout", got.Status, got.Result, got.Error)
		}
	})
}

// The number of kept tasks is limited, and a finished one frees its slot.
func TestRunner_limitsKeptTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, first := beginTask(t, New{Spec: Spec{Kept: true}}, func(ctx context.Context, _ *Task) Outcome {
			<-ctx.Done()
			return Outcome{}
		})
		defer r.Close()
		another := func() error {
			_, err := r.Open(t.Context(), New{Spec: Spec{Principal: "ada", Kept: true}}, func(string) {})
			return err
		}
		for range maxKeptTasks - 1 {
			if err := another(); err != nil {
				t.Fatal(err)
			}
		}
		if err := another(); err == nil {
			t.Error("one too many is kept")
		}
		if got, err := r.Cancel(t.Context(), first); err != nil || got.Status != Cancelled {
			t.Errorf("got %s, %v, want cancelled", got.Status, err)
		}
		synctest.Wait()
		if err := another(); err != nil {
			t.Error(err)
		}
	})
}

// The stored journal of a run is available to the next one, and lost with other keys.
func TestJournal_isAvailableToTheNextRun(t *testing.T) {
	kept := store.New(storetest.Options(t, t.TempDir()))
	t.Cleanup(func() { kept.Close() })
	keys, hold := sealed.Random(), make(chan struct{})
	one := NewRunner(RunnerOptions{Store: kept, Keys: keys, Now: time.Now, Log: slog.New(slog.DiscardHandler), Run: func(ctx context.Context, _ *Task) Outcome {
		<-hold
		return response(`{}`)
	}})
	defer one.Close()
	defer close(hold)
	begun, err := one.Open(t.Context(), New{Durable: true, Spec: Spec{Principal: "ada", Params: json.RawMessage(`{}`)}}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	j := journal.New()
	if err := one.Journal(&begun, j); err != nil {
		t.Fatal(err)
	}
	if err := j.Bind([]byte("plugin")); err != nil {
		t.Fatal(err)
	}
	if err := j.Begin("a request", "net"); err != nil {
		t.Fatal(err)
	}
	again := journal.New()
	if err := one.Journal(&begun, again); err != nil {
		t.Fatal(err)
	}
	if family, what := again.Unfinished(); family != "net" || what != "a request" {
		t.Errorf("got %s, %s, want the request under way", family, what)
	}
	parts, err := one.Book.Parts.List(t.Context(), &begun)
	if err != nil || len(parts) == 0 || bytes.Contains(bytes.Join(parts, nil), []byte("a request")) {
		t.Errorf("got %d parts, %v, want sealed ones", len(parts), err)
	}
	one.o.Keys = sealed.Random()
	var lost *LostError
	if err := one.Journal(&begun, journal.New()); !errors.As(err, &lost) {
		t.Errorf("other keys: got %v, want a lost task", err)
	}
}

// A task answered immediately after its questions runs again before the cleanup of its last run. The cleanup must
// keep the new run's journal, or a request would be sent again after a crash.
func TestRunner_cleanupKeepsTheJournalOfTheNextRun(t *testing.T) {
	dir, keys, begun := t.TempDir(), sealed.Random(), make(chan struct{})
	journalOf := func(r *Runner, x *Task) *journal.Journal {
		j := journal.New()
		if err := errors.Join(r.Journal(x, j), j.Bind([]byte("plugin"))); err != nil {
			t.Error(err)
		}
		return j
	}
	var id string
	var second *Runner
	var answered sync.Once
	answer := func() {
		x, err := second.Find(t.Context(), "ada", id)
		if err != nil || x.Status != Input {
			return // an earlier step
		}
		answered.Do(func() {
			if _, err := second.Answer(t.Context(), x, map[string]json.RawMessage{"k": []byte(`{}`)}); err != nil {
				t.Error(err)
			}
			<-begun
		})
	}
	first := NewRunner(RunnerOptions{Keys: keys, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Store: store.New(store.Options{Dir: dir, URL: storetest.Options(t, dir).URL, Reached: func(step string) error {
			if step == "committed" && id != "" {
				answer()
			}
			return nil
		}})})
	first.o.Run = func(_ context.Context, x *Task) Outcome {
		j := journalOf(first, x)
		if err := j.Begin("the first request", "net"); err != nil {
			t.Error(err)
		}
		return response(`{"resultType":"input_required","requestState":"S","inputRequests":{"k":{}}}`)
	}
	var during Task
	second = NewRunner(RunnerOptions{Keys: keys, Now: time.Now, Log: slog.New(slog.DiscardHandler), Store: store.New(storetest.Options(t, dir)),
		Run: func(ctx context.Context, x *Task) Outcome {
			j := journalOf(second, x)
			if err := j.Begin("the second request", "net"); err != nil {
				t.Error(err)
			}
			during = *x
			close(begun)
			<-ctx.Done()
			return Outcome{}
		}})
	t.Cleanup(func() {
		second.Close()
		_ = errors.Join(first.o.Store.Close(), second.o.Store.Close())
	})
	if _, err := first.Open(t.Context(), New{Durable: true, Spec: Spec{Principal: "ada", Params: json.RawMessage(`{}`)}}, func(name string) { id = name }); err != nil {
		t.Fatal(err)
	}
	<-begun
	first.Close() // waits for the cleanup of its run
	if _, what := journalOf(second, &during).Unfinished(); what != "the second request" {
		t.Errorf("got %q in the journal of the next run, want the second request", what)
	}
	if parts, err := second.Book.Parts.List(t.Context(), &Task{Spec: Spec{ID: id}}); err != nil || len(parts) != 0 {
		t.Errorf("got %d parts of the run that asked, %v, want none", len(parts), err)
	}
}

// A task that asks and is answered while a look reads which tasks run here goes on: only the run of before the look is
// stopped. A stopped run would fail the task without a word of what it has done.
func TestLook_stopsNoRunThatBeganMeanwhile(t *testing.T) {
	ask, begun, end := make(chan struct{}), make(chan struct{}, 2), make(chan struct{})
	r := NewRunner(RunnerOptions{Keys: sealed.Random(), Now: time.Now, Log: slog.New(slog.DiscardHandler), Store: storetest.Open(t, storetest.Options(t, t.TempDir())),
		Run: func(ctx context.Context, x *Task) Outcome {
			begun <- struct{}{}
			if x.Round == 0 {
				<-ask
				return response(`{"resultType":"input_required","requestState":"S","inputRequests":{"k":{}}}`)
			}
			<-end
			if ctx.Err() != nil {
				return Outcome{}
			}
			return response(`{"content":[]}`)
		}})
	x, err := r.Open(t.Context(), New{Durable: true, Spec: Spec{Principal: "ada", Params: json.RawMessage(`{}`)}}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan Task, 10)
	stop, err := r.Book.Watch(t.Context(), "ada", x.ID, func(x Task) { changed <- x }, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	<-begun
	here := r.runs()
	close(ask)
	x = <-changed
	running, err := r.Book.Running(t.Context())
	if err != nil || x.Status != Input {
		t.Fatalf("got %v and status %s, want a question", err, x.Status)
	}
	if _, err := r.Answer(t.Context(), x, map[string]json.RawMessage{"k": []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	<-begun
	r.stopLost(here, running)
	close(end)
	r.work.Wait()
	if x = find(t, r, x.ID); x.Status != Completed {
		t.Errorf("got status %s with %s, want completed", x.Status, x.Message)
	}
}

// A task that left this process and came back has two runs here for a while. The end of the earlier one leaves the later
// one in reach of a cancel.
func TestRunner_cancelsTheLaterOfTwoRuns(t *testing.T) {
	begun, goes := make(chan struct{}), make(chan struct{})
	r := NewRunner(RunnerOptions{Keys: sealed.Random(), Now: time.Now, Log: slog.New(slog.DiscardHandler), Store: storetest.Open(t, storetest.Options(t, t.TempDir())),
		Run: func(ctx context.Context, x *Task) Outcome {
			begun <- struct{}{}
			if x.Round == 0 {
				<-goes // paused
			} else {
				<-ctx.Done()
			}
			return Outcome{}
		}})
	defer r.Close()
	x, err := r.Open(t.Context(), New{Durable: true, Spec: Spec{Principal: "ada", Params: json.RawMessage(`{}`)}}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	earlier := r.runs()[x.ID]
	change(t, r.Book, x.ID, r.Book.Take)
	later := find(t, r, x.ID)
	r.start(later)
	<-begun
	r.ended(x.ID, earlier)
	close(goes)
	if n := r.Running(); n != 1 {
		t.Fatalf("got %d running, want the later run", n)
	}
	if _, err := r.Cancel(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	r.work.Wait()
}

// A task that is cancelled between its opening, or its last answer, and its run gets a context that is done.
func TestRunner_stopsARunCancelledBeforeItBegan(t *testing.T) {
	for _, durable := range []bool{false, true} {
		var r *Runner
		got := make(chan error, 1)
		r = NewRunner(RunnerOptions{Keys: sealed.Random(), Now: time.Now, Log: slog.New(slog.DiscardHandler), Store: storetest.Open(t, storetest.Options(t, t.TempDir())),
			Run: func(ctx context.Context, _ *Task) Outcome { got <- ctx.Err(); return Outcome{} }})
		x, err := r.Open(t.Context(), New{Durable: durable, Spec: Spec{Principal: "ada", Params: json.RawMessage(`{}`)}}, func(id string) {
			if _, err := r.Cancel(t.Context(), find(t, r, id)); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("durable %v: got %v, want a run that is stopped", durable, err)
		}
		r.work.Wait()
		if x = find(t, r, x.ID); x.Status != Cancelled {
			t.Errorf("durable %v: got %s, want cancelled", durable, x.Status)
		}
		r.Close()
	}
}
