package task

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

// heard records the calls of a watcher.
type heard struct{ all []string }

func (h *heard) tell(t Task) { h.all = append(h.all, fmt.Sprint(t.Status, t.Round)) }

func (h *heard) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(h.all, want) {
		t.Errorf("heard %v, want %v", h.all, want)
	}
	h.all = nil
}

func change(t *testing.T, b *Book, id string, f func(*Task)) {
	t.Helper()
	if _, err := b.Change(t.Context(), "ada", id, f); err != nil {
		t.Fatal(err)
	}
}

func to(s Status) func(*Task) { return func(t *Task) { t.Status = s } }

func TestWatch_reportsEachStatusOnce(t *testing.T) {
	for name, s := range map[string]*store.Store{"memory": nil, "store": storetest.Open(t, storetest.Options(t, t.TempDir()))} {
		t.Run(name, func(t *testing.T) {
			b := NewBook(s, time.Now, 0)
			x := begin(t, b, "ada", s != nil)
			var first, late, gone heard
			if _, err := b.Watch(t.Context(), "eve", x.ID, gone.tell, nil); err != ErrUnknown {
				t.Errorf("another principal: got %v, want %v", err, ErrUnknown)
			}
			for _, h := range []*heard{&first, &gone} {
				stop, err := b.Watch(t.Context(), "ada", x.ID, h.tell, nil)
				if err != nil {
					t.Fatal(err)
				}
				if h == &gone {
					stop()
				}
			}
			change(t, b, x.ID, to(Input))
			change(t, b, x.ID, func(x *Task) { x.Message = "no other status" })
			change(t, b, x.ID, b.Take)
			if _, err := b.Watch(t.Context(), "ada", x.ID, late.tell, nil); err != nil {
				t.Fatal(err)
			}
			change(t, b, x.ID, to(Completed))
			first.want(t, "input_required0", "working1", "completed1")
			late.want(t, "working1", "completed1")
			gone.want(t)
			if len(b.watchers) > 0 {
				t.Errorf("got %d watched tasks, want none", len(b.watchers))
			}
			if _, err := b.Watch(t.Context(), "ada", x.ID, late.tell, nil); err != nil || len(b.watchers) > 0 {
				t.Errorf("a finished task: got %v, %d watched, want none", err, len(b.watchers))
			}
			late.want(t, "completed1")
		})
	}
}

// Look reports changes by other processes once, and drops finished tasks.
func TestLook_reportsChangesOfOtherProcesses(t *testing.T) {
	now := storetest.NewClock(time.Now())
	dir := t.TempDir()
	open := func() *Book {
		s := store.New(store.Options{Dir: dir, URL: storetest.Options(t, dir).URL, Now: now.Now})
		t.Cleanup(func() { s.Close() })
		return NewBook(s, now.Now, 0)
	}
	runs, listens := open(), open()
	var h heard
	look := func() {
		t.Helper()
		if err := listens.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look()
	x, old := begin(t, runs, "ada", true), begin(t, runs, "ada", true)
	for _, id := range []string{x.ID, old.ID} {
		if _, err := listens.Watch(t.Context(), "ada", id, h.tell, nil); err != nil {
			t.Fatal(err)
		}
	}
	look()
	h.want(t)
	change(t, runs, x.ID, to(Input))
	look()
	look()
	h.want(t, "input_required0")
	change(t, listens, x.ID, listens.Take) // its own changes are reported immediately
	h.want(t, "working1")
	change(t, runs, x.ID, to(Cancelled))
	look()
	h.want(t, "cancelled1")
	now.Pass(8 * 24 * time.Hour)
	begin(t, runs, "ada", true)
	look()
	h.want(t)
	if len(listens.watchers) > 0 {
		t.Errorf("got %d watched tasks, want none", len(listens.watchers))
	}
}

// A watch ends with the expiry of its task, which is reported once: at the next Look, or without a store at the next
// Open.
func TestWatch_endsWithExpiry(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "store": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			now := storetest.NewClock(time.Now())
			var s *store.Store
			if dir != "" {
				s = storetest.Open(t, store.Options{Dir: dir, URL: storetest.Options(t, dir).URL, Now: now.Now})
			}
			b := NewBook(s, now.Now, 0)
			x := begin(t, b, "ada", s != nil)
			var h heard
			lost, stopped := 0, 0
			if _, err := b.Watch(t.Context(), "ada", x.ID, h.tell, func() { lost++ }); err != nil {
				t.Fatal(err)
			}
			stop, err := b.Watch(t.Context(), "ada", x.ID, h.tell, func() { stopped++ })
			if err != nil {
				t.Fatal(err)
			}
			stop()
			look := func() {
				t.Helper()
				if s == nil {
					begin(t, b, "eve", false)
				} else if err := b.Look(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			look()
			if lost != 0 {
				t.Errorf("before the expiry: got %d calls of gone, want none", lost)
			}
			now.Pass(8 * 24 * time.Hour)
			look()
			look()
			if lost != 1 || stopped != 0 || len(b.watchers) > 0 {
				t.Errorf("got %d and %d calls of gone and %d watched tasks, want 1, 0 and none", lost, stopped, len(b.watchers))
			}
			h.want(t)
		})
	}
}
