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
	// maxActive is the default maximum of concurrent tasks per principal in one process. Stored tasks that wait for
	// answers do not count.
	maxActive = 256
	// maxKept is the maximum number of tasks per principal in a Book without a store. Beyond it the oldest finished
	// ones are removed.
	maxKept = 1024
	// keptInMemory is the lifetime of a task in a Book without a store.
	keptInMemory = time.Hour
	// keptInStore is the lifetime of a task in a store. It is long because people may take days to answer.
	keptInStore = 7 * 24 * time.Hour
	// maxTries is the number of processes that may end while running the same task, before the task is considered
	// the cause.
	maxTries = 10
)

var (
	// ErrUnknown is the error for a task that does not exist, has expired, or belongs to another principal.
	ErrUnknown = errors.New("unknown task")
	// errTooMany is the error for a principal with too many tasks.
	errTooMany = errors.New("too many tasks are going on")
	// errChanged is the error for a task that was changed by another process.
	errChanged = errors.New("the task has changed")
)

// Book holds tasks. It is safe for concurrent use.
type Book struct {
	// Parts has the journals of stored tasks.
	Parts Parts

	active int
	owner  string // of this process
	store  *store.Store
	now    func() time.Time

	mu    sync.Mutex
	tasks map[string]*Task // those of this process; with a store, only the active ones

	// doubts are those about tasks that this process may own by a change whose outcome is not known.
	doubts map[string]doubt

	watchers watchers
	stirred  chan struct{} // has room for one; see stir
	counter  counter
	looked   int64 // store version at the last Look
}

// NewBook returns a book with tasks in s, or only in memory if s is nil. now is the clock. active is the maximum
// number of concurrent tasks per principal; 0 is 256.
func NewBook(s *store.Store, now func() time.Time, active int) *Book {
	return &Book{active: cmp.Or(active, maxActive), owner: rand.Text(), store: s, now: now, tasks: map[string]*Task{}, doubts: map[string]doubt{}, watchers: watchers{}, stirred: make(chan struct{}, 1), Parts: Parts{s}}
}

// New describes a task to open. An empty ID generates one. TTL is the requested lifetime, if shorter than the default; 0
// is the default.
type New struct {
	Spec
	// Durable tasks are stored if there is a store; others are in memory.
	Durable bool
}

// Open opens a task. It is stored when Open returns.
func (b *Book) Open(ctx context.Context, n New) (Task, error) {
	now := b.now()
	t := Task{Spec: n.Spec, Owner: b.owner, Status: Working, Created: now, Updated: now}
	t.ID, t.TTL = cmp.Or(n.ID, rand.Text()), shorter(keptInMemory, n.TTL)
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
		return Task{}, fmt.Errorf("%w: %d are the most", errTooMany, b.active)
	}
	if n.Durable && b.store != nil {
		if err := b.store.Hold(b.owner); err != nil {
			return Task{}, fmt.Errorf("the task cannot be kept: %w", err)
		}
		t.TTL = shorter(keptInStore, n.TTL)
		r, err := b.store.Add(ctx, store.Task, t.record())
		if err != nil {
			b.doubt(&t, err)
			return Task{}, fmt.Errorf("the task cannot be kept: %w", err)
		}
		t.version = r.Version
	}
	b.tasks[t.ID] = &t
	return t, nil
}

// Lasts returns the lifetime of a task in a store.
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
		data = nil // cannot fail: strings, numbers and valid JSON
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

// sweep removes expired tasks, active ones too, with their watches, and the oldest finished tasks in memory beyond the limit.
func (b *Book) sweep(principal string) {
	kept, now := 0, b.now()
	b.watchers.expire(now)
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

// List returns at most n tasks of a principal, sorted by ID, with IDs greater than after.
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
	if t.Durable() && !b.mine(&t) {
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

// keep stores a changed task.
func (b *Book) keep(ctx context.Context, t Task) (Task, error) {
	t.Updated = b.now()
	if t.Durable() {
		r, err := b.store.Replace(ctx, store.Task, t.record())
		if errors.Is(err, store.ErrConflict) {
			return Task{}, errChanged
		} else if err != nil {
			b.doubt(&t, err)
			return Task{}, err
		}
		t.version = r.Version
		delete(b.doubts, t.ID)
	}
	b.counter.ended(t.Status)
	if b.tasks[t.ID] = &t; t.Durable() && !t.lives() {
		delete(b.tasks, t.ID)
	}
	b.watchers.tell(&t)
	return t, nil
}

// Change applies f to an active task. A finished task does not change. If another process changes it concurrently,
// f is called again with the new state.
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
		if t, err = b.keep(ctx, t); !errors.Is(err, errChanged) {
			return t, err
		}
	}
}
