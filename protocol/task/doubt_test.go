package task

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

// A change whose outcome is not known, as the database was lost in its commit, leaves no task working for ever: one that
// was opened fails, as its client was told, and one that was answered or adopted goes on, whether the change was stored
// or not.
func TestSettle_leavesNoTaskWorkingForEver(t *testing.T) {
	for _, stored := range []bool{false, true} {
		dir := t.TempDir()
		var lost atomic.Int32 // the commits that lose their connection
		step := map[bool]string{false: "commit", true: "committed"}[stored]
		o := storetest.Options(t, dir)
		o.Reached = func(at string) error {
			if at == step && lost.Add(-1) >= 0 {
				return errors.Join(store.ErrUnknown, store.ErrUnavailable)
			}
			return nil
		}
		kept, clock := storetest.Open(t, o), storetest.NewClock(time.Now())
		r := NewRunner(RunnerOptions{Keys: sealed.Random(), Now: clock.Now, Log: slog.New(slog.DiscardHandler), Store: kept,
			Run: func(_ context.Context, x *Task) Outcome {
				if x.Round == 0 && x.Tries == 0 {
					return response(`{"resultType":"input_required","requestState":"S","inputRequests":{"k":{}}}`)
				}
				return response(`{"content":[]}`)
			}})
		t.Cleanup(r.Close)
		open := func(id string) (Task, error) {
			return r.Open(t.Context(), New{Durable: true, Spec: Spec{ID: id, Principal: "ada", Params: json.RawMessage(`{}`)}}, func(string) {})
		}
		fails := func(err error) {
			t.Helper()
			if !errors.Is(err, store.ErrUnknown) {
				t.Errorf("stored %v: got %v, want %v", stored, err, store.ErrUnknown)
			}
		}
		ends := func(id string, want Status) {
			t.Helper()
			r.settle()
			r.work.Wait()
			if _, err := r.Find(t.Context(), "ada", id); err != nil { // adopts
				t.Error(err)
			}
			r.work.Wait()
			if got, err := r.Find(t.Context(), "ada", id); err != nil || got.Status != want {
				t.Errorf("stored %v, %s: got %s, %v, want %s", stored, id, got.Status, err, want)
			}
		}
		lost.Store(2)
		_, err := open("opened")
		fails(err)
		r.settle()   // loses the connection too
		if !stored { // the commit comes late
			late := Task{Spec: Spec{ID: "opened", Principal: "ada", TTL: time.Hour}, Owner: r.Book.owner, Status: Working, Created: clock.Now()}
			lost.Store(0)
			if _, err := kept.Add(t.Context(), store.Task, late.record()); err != nil {
				t.Fatal(err)
			}
		}
		ends("opened", Failed)

		lost.Store(0)
		x, err := open("answered")
		if err != nil {
			t.Fatal(err)
		}
		r.work.Wait()
		lost.Store(1)
		answers := map[string]json.RawMessage{"k": []byte(`{}`)}
		_, err = r.Answer(t.Context(), find(t, r, x.ID), answers)
		fails(err)
		if !stored {
			if _, err := r.Answer(t.Context(), find(t, r, x.ID), answers); err != nil {
				t.Error(err)
			}
		}
		ends(x.ID, Completed)

		other := store.New(storetest.Options(t, dir))
		if _, err := NewBook(other, time.Now, 0).Open(t.Context(), New{Durable: true, Spec: Spec{ID: "adopted", Principal: "ada", Params: json.RawMessage(`{}`)}}); err != nil {
			t.Fatal(err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		lost.Store(1)
		if x, err := r.Find(t.Context(), "ada", "adopted"); err != nil || x.Status != Working {
			t.Errorf("stored %v: got %s, %v, want a task that works", stored, x.Status, err)
		}
		ends("adopted", Completed)
		lost.Store(1)
		_, err = open("last")
		fails(err)
		clock.Pass(doubtLasts + time.Second)
		for range 2 { // the second has nothing to do
			r.settle()
		}
		if len(r.Book.doubts) != 0 {
			t.Errorf("stored %v: got %v in doubt at the end, want none", stored, r.Book.doubts)
		}
	}
}

// A started runner settles its doubts without being asked.
func TestRunner_settlesDoubts(t *testing.T) {
	var lost atomic.Bool
	o := storetest.Options(t, t.TempDir())
	o.Reached = func(at string) error {
		if at == "committed" && lost.Swap(false) {
			return errors.Join(store.ErrUnknown, store.ErrUnavailable)
		}
		return nil
	}
	r := NewRunner(RunnerOptions{Keys: sealed.Random(), Now: time.Now, Log: slog.New(slog.DiscardHandler), Store: storetest.Open(t, o)})
	defer r.Close()
	lost.Store(true)
	if _, err := r.Open(t.Context(), New{Durable: true, Spec: Spec{ID: "opened", Principal: "ada"}}, func(string) {}); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("got %v, want %v", err, store.ErrUnknown)
	}
	failed := make(chan struct{})
	stop, err := r.Book.Watch(t.Context(), "ada", "opened", func(x Task) {
		if x.Status == Failed {
			close(failed)
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	r.Start()
	<-failed
}
