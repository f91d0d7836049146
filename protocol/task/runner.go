package task

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Outcome is the result of one run of a task's call, in the form for its client.
type Outcome struct {
	Body []byte         // response; nil if the run was stopped
	Err  *jsonrpc.Error // error in Body; nil for a result, which may be input_required
}

// RunnerOptions configure a Runner. Store, Tasks and Keys may be zero.
type RunnerOptions struct {
	// Run runs the call of a task once, from its last question. It is called from goroutines of the runner.
	Run func(ctx context.Context, t *Task) Outcome
	// May reports whether this process may continue a task of another one. asked reports whether its client
	// requests it here. Nil means always.
	May func(t *Task, asked bool) bool
	// Store holds the tasks; nil keeps them in memory.
	Store *store.Store
	// Tasks is the maximum number of concurrent tasks per principal; 0 is the default of the Book.
	Tasks int
	// Keys seal stored journals.
	Keys *sealed.Keys
	Now  func() time.Time
	Log  *slog.Logger
}

// Runner runs tasks. It is safe for concurrent use.
type Runner struct {
	// Book has the tasks.
	Book *Book
	// Clients wait for tasks.
	Clients Clients

	o     RunnerOptions
	after func(time.Duration) <-chan time.Time
	ctx   context.Context // done when the runner closes
	stop  context.CancelFunc

	news atomic.Bool // search for orphans soon

	mu      sync.Mutex
	closed  bool
	running map[string]*run // the latest run of each task
	work    sync.WaitGroup  // Add is called under mu and never after closed is set

	kept keptSlots // of the kept tasks here
}

// NewRunner returns a runner. The caller closes it.
func NewRunner(o RunnerOptions) *Runner {
	r := &Runner{Book: NewBook(o.Store, o.Now, o.Tasks), o: o, after: time.After, running: map[string]*run{}}
	r.Clients.asking, r.Clients.hearing = map[string]bool{}, map[string]func([]byte){}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Start starts the search for orphans and for changes of tasks by other processes.
func (r *Runner) Start() {
	if r.o.Store != nil {
		r.Go(r.watch)
	}
}

// Close stops the running tasks and waits for them. Stored tasks continue in another process, and waiting ones stay
// waiting.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.work.Wait()
}

// Open opens a task, stores it and starts it. known is called with its ID before it runs.
func (r *Runner) Open(ctx context.Context, n New, known func(id string)) (Task, error) {
	if n.Kept && !r.kept.reserve() {
		return Task{}, tooManyKept()
	}
	t, err := r.Book.Open(ctx, n)
	if err != nil && n.Kept {
		r.kept.release()
	}
	switch {
	case errors.Is(err, errTooMany), errors.Is(err, store.ErrFull):
		return t, &runtime.EndError{Kind: runtime.KindLimit, Message: "there is no room for another task: " + err.Error(), Err: err}
	case errors.Is(err, store.ErrUnknown):
		return t, &runtime.EndError{Kind: runtime.KindUnavailable, Err: err,
			Message: "whether the task is kept is not known, since the database was lost: it does not begin while this host runs, so look for it before you call again"}
	case err != nil:
		return t, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the task cannot be kept, so it does not begin", Err: err}
	}
	known(t.ID)
	r.start(t)
	return t, nil
}

// Find returns a task of a principal. It adopts the task if its process is gone.
func (r *Runner) Find(ctx context.Context, principal, id string) (Task, error) {
	t, err := r.Book.Get(ctx, principal, id)
	if err == nil && r.Book.orphan(&t) {
		r.adopt(ctx, t, true)
		return r.Book.Get(ctx, principal, id)
	}
	return t, err
}

// Answer stores answers to a task's questions. The last one resumes the task in this process, so answers are
// refused if this process may not run it.
func (r *Runner) Answer(ctx context.Context, t Task, answers map[string]json.RawMessage) (Task, error) {
	if t.Status == Input && !t.Kept && !r.may(&t, true) {
		return t, elsewhere()
	}
	if err := r.Book.Ready(); err != nil {
		return t, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the answers cannot be kept", Err: err}
	}
	goesOn := false
	t, err := r.Book.Change(ctx, t.Principal, t.ID, func(t *Task) {
		if goesOn = t.Status == Input && t.Answer(answers); goesOn {
			r.Book.Take(t)
		}
	})
	if err == nil && goesOn && r.Book.mine(&t) && !t.Kept { // a kept task is waiting and sees them
		r.start(t)
	}
	return t, err
}

// Cancel cancels a task. Finished tasks do not change.
func (r *Runner) Cancel(ctx context.Context, t Task) (Task, error) {
	t, err := r.Book.Change(ctx, t.Principal, t.ID, func(t *Task) {
		t.Status, t.Message = Cancelled, "cancelled by the client"
	})
	if err == nil {
		r.cancel(t.ID)
	}
	return t, err
}

// cancel stops the run of a task, if it runs here.
func (r *Runner) cancel(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run := r.running[id]; run != nil {
		run.stop()
	}
}

// Running returns the number of tasks that run in this process.
func (r *Runner) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running)
}

// Go runs f in a goroutine that Close waits for. It does nothing if the runner is closed.
func (r *Runner) Go(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.work.Go(f)
	}
}

// Context returns a context that ends when the runner closes.
func (r *Runner) Context() context.Context { return r.ctx }

// elsewhere returns the error for answers to a task that this process may not run.
func elsewhere() error {
	return &runtime.EndError{Kind: runtime.KindUnavailable,
		Message: "this host does not serve the task's tool, or has other keys: answer the task where it was begun"}
}
