package task

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

// A run whose task went to another process while it was paused begins no effect and keeps no key, although the other
// process has not come to that effect, and although the task comes back to this process in a later round.
func TestRunner_fencesARunThatLostItsTask(t *testing.T) {
	dir := t.TempDir()
	one, other := storetest.Open(t, storetest.Options(t, dir)), storetest.Open(t, storetest.Options(t, dir))
	second := NewBook(other, time.Now, 0)
	begun, goes, effects := make(chan struct{}), make(chan struct{}), make(chan error, 3)
	var r *Runner
	r = NewRunner(RunnerOptions{Store: one, Now: time.Now, Log: slog.New(slog.DiscardHandler), Keys: sealed.Random(), Run: func(ctx context.Context, x *Task) Outcome {
		j := journal.New()
		if err := errors.Join(r.Journal(x, j), j.Bind([]byte("b")), j.Begin("before", "net", []byte("1"))); err != nil {
			t.Error(err)
		}
		j.Record([]byte("done"), "net", []byte("1"))
		close(begun)
		<-goes // paused
		effects <- j.Begin("after", "net", []byte("2"))
		effects <- one.Commit(context.WithoutCancel(ctx), store.Space{Plugin: "p"}, 100, []store.Write{{Key: "k"}}, nil)
		return response(`{"content":[]}`)
	}})
	defer r.Close()
	x, err := r.Open(t.Context(), New{Durable: true, Spec: Spec{Principal: "ada", Params: []byte(`{"name":"x"}`)}}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	for _, owner := range []string{second.owner, r.Book.owner} {
		if _, err := second.Change(t.Context(), "ada", x.ID, func(x *Task) {
			second.Take(x)
			x.Owner = owner
		}); err != nil {
			t.Fatal(err)
		}
	}
	close(goes)
	for range 2 {
		if err := <-effects; !errors.Is(err, store.ErrFenced) {
			t.Errorf("got %v, want %v", err, store.ErrFenced)
		}
	}
}
