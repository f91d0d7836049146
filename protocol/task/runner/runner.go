package runner

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
	"github.com/sallyport-mcp/sallyport/protocol/sealed"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Outcome is how one run of a task's call ended, as its client would be told.
type Outcome struct {
	Body []byte         // the response; nil is that the run was stopped
	Err  *jsonrpc.Error // that Body carries; nil for a result, which may be input_required
}

// Options configure a Runner. Store, Tasks and Keys may be zero.
type Options struct {
	// Run runs the call of a task once, from where it stopped. It is called from goroutines of the runner.
	Run func(ctx context.Context, t *task.Task) Outcome
	// May reports whether this process may go on with a task that another one began; asked is that its client waits
	// for it here. nil is always.
	May func(t *task.Task, asked bool) bool
	// Store keeps the tasks; nil keeps them in memory.
	Store *store.Store
	// Tasks is how many tasks of one principal may go on at once; 0 is the book's own bound.
	Tasks int
	// Keys seal what is kept of a task that runs.
	Keys *sealed.Keys
	Now  func() time.Time
	Log  *slog.Logger
}

// Runner runs tasks. It is safe for concurrent use.
type Runner struct {
	// Book has the tasks.
	Book *task.Book

	o    Options
	ctx  context.Context // done when the runner closes
	stop context.CancelFunc

	news atomic.Bool // tasks are to be looked for soon

	mu      sync.Mutex
	closed  bool
	running map[string]context.CancelFunc // by task
	asking  map[string]bool               // tasks whose questions are with a client
	hearing map[string]func(msg []byte)   // by task, the client that began it
	kept    int                           // that live here
	work    sync.WaitGroup                // Add happens under mu, and not once closed is set
}

// New returns a runner. The caller closes it.
func New(o Options) *Runner {
	r := &Runner{Book: task.NewBook(o.Store, o.Now, o.Tasks), o: o, running: map[string]context.CancelFunc{}, asking: map[string]bool{}, hearing: map[string]func([]byte){}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Start begins to look for tasks that were left behind, and for what other processes do to those that are here.
func (r *Runner) Start() {
	if r.o.Store != nil {
		r.Go(r.watch)
	}
}

// Close ends the tasks that run and waits for them. Those that are kept in a store go on in another process, and those
// that wait for answers go on waiting.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.work.Wait()
}

// Open begins a task, which is kept by then. known hears of its name before it runs.
func (r *Runner) Open(ctx context.Context, n task.New, known func(id string)) (task.Task, error) {
	if n.Kept && !r.reserve() {
		return task.Task{}, tooManyKept()
	}
	t, err := r.Book.Open(ctx, n)
	if err != nil && n.Kept {
		r.release()
	}
	switch {
	case errors.Is(err, task.ErrTooMany), errors.Is(err, store.ErrFull):
		return t, &runtime.EndError{Kind: runtime.KindLimit, Message: "there is no room for another task: " + err.Error(), Err: err}
	case err != nil:
		return t, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the task cannot be kept, so it does not begin", Err: err}
	}
	known(t.ID)
	r.start(t)
	return t, nil
}

// Find finds a task of a principal. If its process has gone this one goes on with it.
func (r *Runner) Find(ctx context.Context, principal, id string) (task.Task, error) {
	t, err := r.Book.Get(ctx, principal, id)
	if err == nil && r.Book.Orphan(&t) {
		r.adopt(ctx, t, true)
		return r.Book.Get(ctx, principal, id)
	}
	return t, err
}

// Answer takes in answers to what a task asks. With the last of them it goes on: here, so that answers are refused
// where it may not.
func (r *Runner) Answer(ctx context.Context, t task.Task, answers map[string]json.RawMessage) (task.Task, error) {
	if t.Status == task.Input && !t.Kept && !r.may(&t, true) {
		return t, elsewhere()
	}
	if err := r.Book.Ready(); err != nil {
		return t, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the answers cannot be kept", Err: err}
	}
	goesOn := false
	t, err := r.Book.Change(ctx, t.Principal, t.ID, func(t *task.Task) {
		if goesOn = t.Status == task.Input && t.Answer(answers); goesOn {
			r.Book.Take(t)
		}
	})
	if err == nil && goesOn && r.Book.Mine(&t) && !t.Kept { // which waits, and sees them
		r.start(t)
	}
	return t, err
}

// Cancel cancels a task. One that is over stays as it is.
func (r *Runner) Cancel(ctx context.Context, t task.Task) (task.Task, error) {
	t, err := r.Book.Change(ctx, t.Principal, t.ID, func(t *task.Task) {
		t.Status, t.Message = task.Cancelled, "cancelled by the client"
	})
	if err == nil {
		r.cancel(t.ID)
	}
	return t, err
}

// cancel ends the run of a task, if it runs here.
func (r *Runner) cancel(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.running[id]; cancel != nil {
		cancel()
	}
}

// Go runs f beside the tasks, and Close waits for it. It does nothing if the runner is closed.
func (r *Runner) Go(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.work.Go(f)
	}
}

// Context ends when the runner closes.
func (r *Runner) Context() context.Context { return r.ctx }

// elsewhere refuses answers to a task that another host has to go on with.
func elsewhere() error {
	return &runtime.EndError{Kind: runtime.KindUnavailable,
		Message: "this host does not serve what the task runs, or has other keys: answer the task where it was begun"}
}
