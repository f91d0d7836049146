package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

func begin(t *testing.T, b *Book, who string, durable bool) Task {
	t.Helper()
	task, err := b.Open(t.Context(), New{Durable: durable, Spec: Spec{Principal: who, Params: json.RawMessage(`{"name":"x","_meta":{}}`)}})
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

func TestBook_keepsTasksOfAPrincipal(t *testing.T) {
	for _, c := range []struct {
		name    string
		store   *store.Store
		durable bool
	}{{"memory", nil, true}, {"store", storetest.Open(t, storetest.Options(t, t.TempDir())), true}, {"not durable", storetest.Open(t, storetest.Options(t, t.TempDir())), false}} {
		t.Run(c.name, func(t *testing.T) {
			now := storetest.NewClock(time.Now())
			b := NewBook(c.store, now.Now, 0)
			x := begin(t, b, "ada", c.durable)
			if got := status(t, b, "ada", x.ID); got != "working" {
				t.Errorf("got %v, want %v", got, "working")
			}
			if got := status(t, b, "eve", x.ID); got != "unknown task" {
				t.Errorf("got %v, want %v", got, "unknown task")
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
				t.Errorf("got %s %s, want working %s", x.Status, got, want)
			}
			for _, s := range []Status{Completed, Cancelled} { // the second is ignored
				if x, _ = b.Change(t.Context(), "ada", x.ID, func(x *Task) { x.Status = s }); x.Status != Completed {
					t.Errorf("got %s, want completed", x.Status)
				}
			}
			now.Pass(x.TTL - time.Second)
			if got := status(t, b, "ada", x.ID); got != "completed" {
				t.Errorf("before its time: got %s, want %s", got, "completed")
			}
			now.Pass(2 * time.Second)
			if got := status(t, b, "ada", x.ID); got != "unknown task" {
				t.Errorf("after its time: got %s, want %s", got, "unknown task")
			}
		})
	}
}

// Another process takes over a waiting task, and one that lost its process.
func TestBook_lendsTasksToOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	one, other := store.New(storetest.Options(t, dir)), store.New(storetest.Options(t, dir))
	defer other.Close()
	first, second := NewBook(one, time.Now, 0), NewBook(other, time.Now, 0)
	waits, runs, over := begin(t, first, "ada", true), begin(t, first, "ada", true), begin(t, first, "ada", true)
	for id, s := range map[string]Status{waits.ID: Input, over.ID: Completed} {
		if _, err := first.Change(t.Context(), "ada", id, func(x *Task) { x.Status = s }); err != nil {
			t.Fatal(err)
		}
	}
	for n, text := range []string{"zero", "one"} {
		if err := first.Parts.Add(t.Context(), &runs, n, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Parts.Add(t.Context(), &runs, 1, nil); !errors.Is(err, store.ErrExists) {
		t.Errorf("two processes write one part: got %v, want %v", err, store.ErrExists)
	}
	if list, err := second.orphans(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("the process lives: got orphans %v, %v, want none", list, err)
	}
	if _, ours, err := second.Adopt(t.Context(), runs, always); ours || err != nil {
		t.Errorf("adopted from a process that lives: got %v", err)
	}
	if running, err := first.Running(t.Context()); len(running) != 1 || !running[runs.ID] || err != nil {
		t.Errorf("got %v, %v, want the running task", running, err)
	}
	if err := one.Close(); err != nil { // it releases its name, as at its end
		t.Fatal(err)
	}
	list, err := second.orphans(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != runs.ID {
		t.Fatalf("got %v, %v, want the orphan", list, err)
	}
	adopted, ours, err := second.Adopt(t.Context(), list[0], always)
	if !ours || err != nil || adopted.Tries != 1 || !second.mine(&adopted) {
		t.Errorf("got %+v, %v, want a task of this process", adopted, err)
	}
	parts, err := second.Parts.List(t.Context(), &adopted)
	if err != nil || len(parts) != 2 || string(parts[0])+string(parts[1]) != "zeroone" {
		t.Errorf("got %q, %v, want zero and one", parts, err)
	}
	taken, err := second.Change(t.Context(), "ada", waits.ID, second.Take)
	if err != nil || taken.Status != Working || taken.Round != 1 {
		t.Errorf("got %+v, %v, want the first round", taken, err)
	}
	if err := second.Parts.Remove(t.Context(), &adopted, false); err != nil {
		t.Fatal(err)
	}
	if parts, err := second.Parts.List(t.Context(), &adopted); len(parts) != 0 || err != nil {
		t.Errorf("got %q, %v, want none", parts, err)
	}
}

// A task that ends its process each time fails after maxTries.
func TestBook_failsATaskAfterTooManyTries(t *testing.T) {
	dir := t.TempDir()
	s := store.New(storetest.Options(t, dir))
	x := begin(t, NewBook(s, time.Now, 0), "ada", true)
	for try := 1; ; try++ {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = store.New(storetest.Options(t, dir))
		y, ours, err := NewBook(s, time.Now, 0).Adopt(t.Context(), x, always)
		if err != nil {
			t.Fatal(err)
		}
		if !ours {
			if try != maxTries+1 || y.Status != Failed {
				t.Errorf("given up after %d: got %+v, want a failure after %d", try, y, maxTries+1)
			}
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBook_limitsTasks(t *testing.T) {
	b := NewBook(nil, time.Now, 0)
	for range maxKept + 10 {
		x := begin(t, b, "ada", false)
		if _, err := b.Change(t.Context(), "ada", x.ID, func(x *Task) { x.Status = Completed }); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.tasks); n > maxKept {
		t.Errorf("got %d tasks, want at most %d", n, maxKept)
	}
	b = NewBook(nil, time.Now, 0)
	for range maxActive {
		begin(t, b, "ada", false)
	}
	if _, err := b.Open(t.Context(), New{Spec: Spec{Principal: "ada"}}); !errors.Is(err, errTooMany) {
		t.Errorf("got %v, want %v", err, errTooMany)
	}
	begin(t, b, "eve", false) // with her own limit
}

// Expired tasks, working or waiting, no longer count toward the limit.
func TestBook_freesSlotsOfExpiredTasks(t *testing.T) {
	kept := store.New(storetest.Options(t, t.TempDir()))
	t.Cleanup(func() { kept.Close() })
	for name, s := range map[string]*store.Store{"in memory": nil, "in the store": kept} {
		for _, status := range []Status{Working, Input} {
			now := time.Now()
			b := NewBook(s, func() time.Time { return now }, 2)
			open := func() error {
				x, err := b.Open(t.Context(), New{Durable: s != nil, Spec: Spec{Principal: "ada", Params: json.RawMessage(`{}`), TTL: time.Minute}})
				if err == nil && status == Input {
					_, err = b.Change(t.Context(), "ada", x.ID, func(x *Task) { x.Ask(map[string]json.RawMessage{"k": []byte(`{}`)}) })
				}
				return err
			}
			for range 2 {
				if err := open(); err != nil {
					t.Fatal(name, status, err)
				}
			}
			if waits := s != nil && status == Input; !waits { // stored waiting tasks never count
				if err := open(); !errors.Is(err, errTooMany) {
					t.Errorf("%s, %s: got %v, want %v", name, status, err, errTooMany)
				}
			}
			now = now.Add(2 * time.Minute)
			for range 2 {
				if err := open(); err != nil {
					t.Errorf("%s, %s: got %v, want a task", name, status, err)
				}
			}
		}
	}
}

// Two processes change one task concurrently, and no change is lost.
func TestBook_losesNoConcurrentChange(t *testing.T) {
	s := storetest.Open(t, storetest.Options(t, t.TempDir()))
	first, second := NewBook(s, time.Now, 0), NewBook(s, time.Now, 0)
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
		t.Errorf("got %d answers, want 20", len(x.Answers))
	}
}

// always allows every adoption.
func always(*Task) bool { return true }

// If two processes find the same orphan, only one adopts it, even if it has finished the task when the other tries.
func TestAdopt_isOfOneProcess(t *testing.T) {
	dir := t.TempDir()
	open := func(reached func(string) error) *store.Store {
		s := store.New(store.Options{Dir: dir, URL: storetest.Options(t, dir).URL, Reached: reached})
		t.Cleanup(func() { s.Close() })
		return s
	}
	one := open(nil)
	orphan, err := NewBook(one, time.Now, 0).Open(t.Context(), New{Durable: true, Spec: Spec{Principal: "ada"}})
	if err == nil {
		err = one.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	faster := NewBook(open(nil), time.Now, 0)
	met := false
	slower := NewBook(open(func(string) error {
		if met {
			return nil
		}
		met = true
		if _, ours, err := faster.Adopt(t.Context(), orphan, always); !ours || err != nil {
			t.Errorf("the faster one: got %v, %v, want the task", ours, err)
		}
		_, err := faster.Change(t.Context(), "ada", orphan.ID, func(x *Task) { x.Status = Completed })
		return err
	}), time.Now, 0)
	if got, ours, err := slower.Adopt(t.Context(), orphan, always); ours || err != nil || got.Status != Completed || !met {
		t.Errorf("the slower one: got %v, %v, %s, want a completed task of the other", ours, err, got.Status)
	}
}

// Records of earlier versions of this program are read: the members of a task are at one level.
func TestTask_isStoredFlat(t *testing.T) {
	const stored = `{"id":"x","who":"ada","owner":"o","status":"working","created":"2026-01-02T03:04:05Z","updated":"2026-01-02T03:04:05Z","ttl":7,"params":{"name":"t"},"kept":true,"mark":"m"}`
	var got Task
	if err := json.Unmarshal([]byte(stored), &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != "x" || got.Principal != "ada" || got.TTL != 7 || !got.Kept || got.Mark != "m" || string(got.Params) != `{"name":"t"}` {
		t.Errorf("got %+v of %s", got, stored)
	}
	again, err := json.Marshal(got)
	var members map[string]json.RawMessage
	if err = errors.Join(err, json.Unmarshal(again, &members)); err != nil || len(members) != 10 {
		t.Errorf("got %s, want the members of %s: %v", again, stored, err)
	}
}
