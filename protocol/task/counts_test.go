package task

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

func TestCounts_areThoseOfEachStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outcomes := []Outcome{{}, response(`{"resultType":"input_required"}`), response(`{}`), response(`{}`), {Body: []byte(`{}`), Err: &jsonrpc.Error{}}}
		var n atomic.Int64
		r, one := beginTask(t, New{}, func(ctx context.Context, _ *Task) Outcome {
			o := outcomes[n.Add(1)-1]
			if o.Body == nil {
				<-ctx.Done()
			}
			return o
		})
		defer r.Close()
		all := []Task{one}
		for range len(outcomes) - 1 {
			next, err := r.Open(t.Context(), New{Spec: Spec{Principal: one.Principal, Params: one.Params}}, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, next)
		}
		synctest.Wait()
		if got, want := r.Counts(), (Counts{Working: 1, Input: 1, Completed: 2, Failed: 1}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		for _, one := range all {
			if _, err := r.Cancel(t.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got, want := r.Counts(), (Counts{Completed: 2, Failed: 1, Cancelled: 2}); got != want {
			t.Errorf("after their cancellation: got %+v, want %+v", got, want)
		}
	})
}

// Tasks of a store are counted by each of its processes.
func TestCounts_haveTheTasksOfAllProcesses(t *testing.T) {
	dir := t.TempDir()
	var books []*Book
	for range 2 {
		b := NewBook(storetest.Open(t, storetest.Options(t, dir)), time.Now, 0)
		if _, err := b.Open(t.Context(), New{Durable: true, Spec: Spec{Principal: "ada"}}); err != nil {
			t.Fatal(err)
		}
		books = append(books, b)
	}
	for i, b := range books {
		if err := b.count(t.Context()); err != nil || b.counter.working.Load() != 2 || b.counter.input.Load() != 0 {
			t.Errorf("process %d: got %d tasks that run, %v, want 2", i, b.counter.working.Load(), err)
		}
	}
}
