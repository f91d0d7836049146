package task

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

const (
	// maxActive is how many tasks of one principal may go on at once in one process, unless the operator says
	// something else; those in the store that wait for answers do not count.
	maxActive = 256
	// maxKept is how many tasks of one principal a Book without a store keeps; the oldest that are over go.
	maxKept = 1024
	// keptInMemory is how long a task is there in a Book without a store.
	keptInMemory = time.Hour
	// keptInStore is how long it is there in one with a store: a person may be away for days.
	keptInStore = 7 * 24 * time.Hour
	// maxTries is how many processes may end while they run the same task, before it counts as the reason.
	maxTries = 10
)

var (
	// ErrUnknown is the error for a task that is not there (any more), or is somebody else's.
	ErrUnknown = errors.New("unknown task")
	// ErrTooMany is the error for a principal with too many tasks.
	ErrTooMany = errors.New("too many tasks are going on")
	// ErrChanged is the error for a task that is another than the caller thinks.
	ErrChanged = errors.New("the task has changed")
)

// Book holds tasks. It is safe for concurrent use.
type Book struct {
	active int
	owner  string // names this process
	store  *store.Store
	now    func() time.Time

	mu    sync.Mutex
	tasks map[string]*Task // those of this process; with a store, only those that go on

	watchers map[string]map[*watcher]struct{} // by task
	looked   int64                            // the store's version at the last look
}

// NewBook returns a book that keeps tasks in s, or only in memory if that is nil. Now is the time, and active how many
// tasks of one principal may go on at once; 0 is 256.
func NewBook(s *store.Store, now func() time.Time, active int) *Book {
	return &Book{active: cmp.Or(active, maxActive), owner: rand.Text(), store: s, now: now, tasks: map[string]*Task{}, watchers: map[string]map[*watcher]struct{}{}}
}

// New is a task that is to begin.
type New struct {
	// ID names it; "" makes a name.
	ID        string
	Principal string
	Proof     string // that of Task
	// Durable tasks are in the store, if there is one; others are in memory.
	Durable bool
	Params  json.RawMessage
	// TTL is how long it is kept, if that is shorter than usual; 0 is as long as usual.
	TTL time.Duration
	// Kept, Session and Mark are those of Task.
	Kept    bool
	Session string
	Mark    string
}

// Open begins a task, which is kept when Open returns.
func (b *Book) Open(ctx context.Context, n New) (Task, error) {
	now := b.now()
	t := Task{
		ID: cmp.Or(n.ID, rand.Text()), Principal: n.Principal, Proof: n.Proof, Owner: b.owner, Status: Working, Created: now, Updated: now,
		TTL: shorter(keptInMemory, n.TTL), Params: n.Params, Kept: n.Kept, Session: n.Session, Mark: n.Mark,
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep(n.Principal)
	active := 0
	for _, other := range b.tasks {
		if other.Principal == n.Principal && !other.Status.Over() {
			active++
		}
	}
	if active >= b.active {
		return Task{}, fmt.Errorf("%w: %d are the most", ErrTooMany, b.active)
	}
	if n.Durable && b.store != nil {
		if err := b.store.Hold(b.owner); err != nil {
			return Task{}, fmt.Errorf("the task cannot be kept: %w", err)
		}
		t.TTL = shorter(keptInStore, n.TTL)
		r, err := b.store.Add(ctx, store.Task, t.record())
		if err != nil {
			return Task{}, fmt.Errorf("the task cannot be kept: %w", err)
		}
		t.version = r.Version
	}
	b.tasks[t.ID] = &t
	return t, nil
}

// Lasts is how long a task is kept in a store.
func Lasts(n New) time.Duration { return shorter(keptInStore, n.TTL) }

func shorter(usual, wanted time.Duration) time.Duration {
	if wanted > 0 {
		return min(usual, wanted)
	}
	return usual
}

func (t *Task) record() store.Record {
	data, err := json.Marshal(t)
	if err != nil {
		data = nil // texts, numbers and JSON that was checked always encode
	}
	label := ""
	switch {
	case t.lives():
		label = t.Owner
	case t.Status.Over():
		label = store.Done
	}
	return store.Record{ID: t.ID, Principal: t.Principal, Label: label, Data: data, Expires: t.Expires(), Version: t.version}
}

// Durable reports whether the task is in the store.
func (t *Task) Durable() bool { return t.version != 0 }

// sweep forgets what has expired, also what never ended, and of what is over in memory the oldest beyond the bound.
func (b *Book) sweep(principal string) {
	kept, now := 0, b.now()
	var oldest *Task
	for id, t := range b.tasks {
		if t.Expires().Before(now) {
			delete(b.tasks, id)
			continue
		}
		if t.Principal != principal {
			continue
		}
		kept++
		if t.Status.Over() && (oldest == nil || t.Created.Before(oldest.Created)) {
			oldest = t
		}
	}
	if kept >= maxKept && oldest != nil {
		delete(b.tasks, oldest.ID)
	}
}

// List returns at most n tasks of a principal, sorted by ID, whose ID comes behind after.
func (b *Book) List(ctx context.Context, principal, after string, n int) (list []Task, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tasks {
		if t.Principal == principal && t.ID > after && !t.Durable() && !t.Expires().Before(b.now()) {
			list = append(list, *t)
		}
	}
	if b.store != nil {
		records, err := b.store.List(ctx, store.Task, principal, after, n)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			var t Task
			if err := json.Unmarshal(r.Data, &t); err == nil {
				list = append(list, t)
			}
		}
	}
	slices.SortFunc(list, func(a, b Task) int { return strings.Compare(a.ID, b.ID) })
	return list[:min(n, len(list))], nil
}

// Get returns a task of a principal.
func (b *Book) Get(ctx context.Context, principal, id string) (Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.get(ctx, principal, id)
}

func (b *Book) get(ctx context.Context, principal, id string) (Task, error) {
	t, err := b.load(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if t.Principal != principal || t.Expires().Before(b.now()) {
		return Task{}, ErrUnknown
	}
	if t.Durable() && !b.Mine(&t) {
		delete(b.tasks, id)
	}
	return t, nil
}

func (b *Book) load(ctx context.Context, id string) (Task, error) {
	if t := b.tasks[id]; t != nil && !t.Durable() {
		return *t, nil
	}
	if b.store == nil {
		return Task{}, ErrUnknown
	}
	r, err := b.store.Get(ctx, store.Task, id)
	if errors.Is(err, store.ErrNotFound) {
		return Task{}, ErrUnknown
	} else if err != nil {
		return Task{}, err
	}
	var t Task
	if err := json.Unmarshal(r.Data, &t); err != nil {
		return Task{}, fmt.Errorf("the task cannot be read: %w", err)
	}
	t.version = r.Version
	return t, nil
}

// keep writes a changed task down.
func (b *Book) keep(ctx context.Context, t Task) (Task, error) {
	t.Updated = b.now()
	if t.Durable() {
		r, err := b.store.Replace(ctx, store.Task, t.record())
		if errors.Is(err, store.ErrConflict) {
			return Task{}, ErrChanged
		} else if err != nil {
			return Task{}, err
		}
		t.version = r.Version
	}
	if b.tasks[t.ID] = &t; t.Durable() && !t.lives() {
		delete(b.tasks, t.ID)
	}
	b.tell(&t)
	return t, nil
}

// Change changes a task that is not over, by a function of how it is now; one that is over stays as it is.
// Another process may change it at the same time: then f is called again.
func (b *Book) Change(ctx context.Context, principal, id string, f func(*Task)) (Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		t, err := b.get(ctx, principal, id)
		if err != nil || t.Status.Over() {
			return t, err
		}
		before := t.record()
		if f(&t); bytes.Equal(before.Data, t.record().Data) {
			return t, nil
		}
		if t, err = b.keep(ctx, t); !errors.Is(err, ErrChanged) {
			return t, err
		}
	}
}
