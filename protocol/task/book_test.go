package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func shared(t *testing.T) *store.Store {
	t.Helper()
	s := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func begin(t *testing.T, b *Book, who string, durable bool) Task {
	t.Helper()
	task, err := b.Open(t.Context(), who, durable, json.RawMessage(`{"name":"x","_meta":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func status(t *testing.T, b *Book, who, id string) string {
	t.Helper()
	task, err := b.Get(t.Context(), who, id)
	if err != nil {
		return err.Error()
	}
	return string(task.Status)
}

func TestBook(t *testing.T) {
	for _, c := range []struct {
		name    string
		store   *store.Store
		durable bool
	}{{"memory", nil, true}, {"store", shared(t), true}, {"not durable", shared(t), false}} {
		t.Run(c.name, func(t *testing.T) {
			now := &clock{now: time.Now()}
			b := NewBook(c.store, now.Now)
			x := begin(t, b, "ada", c.durable)
			if got := status(t, b, "ada", x.ID); got != "working" {
				t.Error(got)
			}
			if got := status(t, b, "eve", x.ID); got != "unknown task" {
				t.Error(got)
			}
			ask := func(x *Task) {
				x.Status, x.State = Input, "S"
				x.Requests = map[string]json.RawMessage{"a": []byte("1"), "b": []byte("2")}
			}
			if _, err := b.Change(t.Context(), "ada", x.ID, ask); err != nil {
				t.Fatal(err)
			}
			for _, answer := range []string{"a", "none", "b"} {
				if _, err := b.Change(t.Context(), "ada", x.ID, func(x *Task) {
					if x.Answer(map[string]json.RawMessage{answer: []byte(`{"n":1}`)}) {
						b.Take(x)
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
			x, _ = b.Get(t.Context(), "ada", x.ID)
			want := `{"name":"x","_meta":{},"inputResponses":{"a":{"n":1},"b":{"n":1}},"requestState":"S"}`
			if got := string(x.Next()); x.Status != Working || got != want {
				t.Errorf("%s %s", x.Status, got)
			}
			for _, s := range []Status{Completed, Cancelled} { // the second comes too late
				if x, _ = b.Change(t.Context(), "ada", x.ID, func(x *Task) { x.Status = s }); x.Status != Completed {
					t.Error(x.Status)
				}
			}
			now.pass(x.TTL - time.Second)
			if got := status(t, b, "ada", x.ID); got != "completed" {
				t.Errorf("before its time: %s", got)
			}
			now.pass(2 * time.Second)
			if got := status(t, b, "ada", x.ID); got != "unknown task" {
				t.Errorf("after its time: %s", got)
			}
		})
	}
}

// A task that waits is taken up by another process; one whose process has gone has failed.
func TestBook_OtherProcess(t *testing.T) {
	s, now := shared(t), &clock{now: time.Now()}
	first, second := NewBook(s, now.Now), NewBook(s, now.Now)
	waits, runs := begin(t, first, "ada", true), begin(t, first, "ada", true)
	if _, err := first.Change(t.Context(), "ada", waits.ID, func(x *Task) { x.Status = Input }); err != nil {
		t.Fatal(err)
	}
	now.pass(Lease - time.Second)
	if got := status(t, second, "ada", runs.ID); got != "working" {
		t.Error(got)
	}
	if _, err := first.Change(t.Context(), "ada", runs.ID, func(*Task) {}); err != nil { // it still runs
		t.Fatal(err)
	}
	now.pass(Lease - time.Second)
	if got := status(t, second, "ada", runs.ID); got != "working" {
		t.Error(got)
	}
	now.pass(2 * time.Second)
	if got := status(t, second, "ada", runs.ID); got != "failed" {
		t.Error(got)
	}
	if x, err := first.Change(t.Context(), "ada", runs.ID, func(x *Task) { x.Status = Completed }); err != nil || x.Status != Failed {
		t.Errorf("%s, %v", x.Status, err)
	}
	taken, err := second.Change(t.Context(), "ada", waits.ID, second.Take)
	if err != nil || taken.Status != Working || status(t, first, "ada", waits.ID) != "working" {
		t.Errorf("%+v, %v", taken, err)
	}
}

func TestBook_Bounds(t *testing.T) {
	b := NewBook(nil, time.Now)
	for range maxKept + 10 {
		x := begin(t, b, "ada", false)
		if _, err := b.Change(t.Context(), "ada", x.ID, func(x *Task) { x.Status = Completed }); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.tasks); n > maxKept {
		t.Errorf("%d tasks are kept", n)
	}
	b = NewBook(nil, time.Now)
	for range maxActive {
		begin(t, b, "ada", false)
	}
	if _, err := b.Open(t.Context(), "ada", false, nil); !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
	begin(t, b, "eve", false) // who has her own
}

// Two processes change one task at the same time, and no change is lost.
func TestBook_Hammer(t *testing.T) {
	s := shared(t)
	first, second := NewBook(s, time.Now), NewBook(s, time.Now)
	x := begin(t, first, "ada", true)
	var work sync.WaitGroup
	for n, b := range []*Book{first, second} {
		for i := range 10 {
			work.Go(func() {
				key := fmt.Sprint(n, "-", i)
				if _, err := b.Change(t.Context(), "ada", x.ID, func(x *Task) {
					x.Requests = map[string]json.RawMessage{key: []byte("1")}
					x.Answer(map[string]json.RawMessage{key: []byte("1")})
				}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	work.Wait()
	if x, _ = first.Get(t.Context(), "ada", x.ID); len(x.Answers) != 20 {
		t.Errorf("%d answers", len(x.Answers))
	}
}
