package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/journal"
	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// watchEvery is how often the tasks that run here are looked at: somebody may have cancelled one elsewhere.
	watchEvery = time.Second
	// adoptEvery is how often tasks are looked for whose process has gone, beside the start.
	adoptEvery = 30 * time.Second
	// notePause is how long to wait before the outcome of a task is written again, while the store cannot.
	notePause = time.Second
	// storeTime is how long the store may take: it is a file of this machine.
	storeTime = 5 * time.Second
)

// tasks runs the tasks of a server.
type tasks struct {
	server *Server
	book   *task.Book
	ctx    context.Context // done when the server closes
	stop   context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running map[string]context.CancelFunc // by task
	asking  map[string]bool               // tasks whose questions are with a legacy client
	told    map[string]*Conn              // by task, the legacy session that began it
	kept    int                           // that live here
	work    sync.WaitGroup                // Add happens under mu, and not once closed is set
}

func newTasks(s *Server) *tasks {
	m := &tasks{server: s, book: task.NewBook(s.opts.Store, s.now, s.opts.Tasks), running: map[string]context.CancelFunc{}, asking: map[string]bool{}, told: map[string]*Conn{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	if s.opts.Store != nil {
		m.work.Go(m.watch)
	}
	return m
}

// close ends the tasks that run and waits for them. Those that are kept go on in another process, and those
// that wait for answers go on waiting.
func (m *tasks) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	m.work.Wait()
}

// start runs a task until it ends or asks.
func (m *tasks) start(t task.Task) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return // the next host finds it
	}
	ctx, cancel := context.WithDeadline(m.ctx, t.Expires())
	m.running[t.ID] = cancel
	m.work.Go(func() {
		defer cancel()
		if t.Kept {
			defer m.release()
		}
		resp := m.run(ctx, &t)
		m.mu.Lock()
		delete(m.running, t.ID)
		m.mu.Unlock()
		if resp.Body == nil && t.Durable() && !t.Kept && m.ctx.Err() != nil {
			return // whoever adopts it goes on
		}
		m.note(t, resp)
	})
}

// cancel ends the run of a task, if it runs here.
func (m *tasks) cancel(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cancel := m.running[id]; cancel != nil {
		cancel()
	}
}

// claimQuestions reports whether the questions of a task are the caller's to put, until it releases them.
func (m *tasks) claimQuestions(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asking[id] {
		return false
	}
	m.asking[id] = true
	return true
}

func (m *tasks) releaseQuestions(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asking, id)
}

// tellTo has a session hear what its task says on its way; nil has nobody.
func (m *tasks) tellTo(id string, c *Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c == nil {
		delete(m.told, id)
	} else {
		m.told[id] = c
	}
}

// tell passes on what a task says on its way: its progress, to the session of 2025-11-25 that began it. The extension
// of today has none.
func (m *tasks) tell(id string, msg []byte) {
	m.mu.Lock()
	c := m.told[id]
	m.mu.Unlock()
	if c != nil && msg != nil {
		c.opts.Notify(msg)
	}
}

// run is the call itself, which nobody waits for: as the client would send it.
func (m *tasks) run(ctx context.Context, t *task.Task) Response {
	params := t.Params
	if t.State != "" {
		params = t.Next()
	}
	c := m.server.Connect(ConnOptions{Principal: t.Principal, Session: t.Session})
	defer m.server.forget(c)
	r := &request{
		conn: c, server: m.server, id: json.RawMessage(`"task"`), method: "tools/call", params: params,
		modern: true, task: t, capabilities: rawjson.Get(params, "_meta", era.MetaCapabilities),
		stop: func() {},
	}
	r.token, r.send = rawjson.Get(params, "_meta", "progressToken"), func(msg []byte) { m.tell(t.ID, msg) }
	r.resumption.lasts = t.Expires().Sub(m.server.now())
	body, err := r.guarded(ctx, callTool)
	return r.respond(ctx, body, err)
}

// note writes down what came of a run. What cannot be written is tried again until the host ends: until then the
// task runs.
func (m *tasks) note(t task.Task, resp Response) {
	for try := 1; ; try++ {
		_, err := m.book.Change(context.Background(), t.Principal, t.ID, func(t *task.Task) {
			if m.book.Mine(t) {
				settleTask(t, resp)
			}
		})
		if err == nil || errors.Is(err, task.ErrUnknown) {
			break
		}
		if try == 1 {
			m.server.log.Error("a task's outcome cannot be kept, and is tried again", "task", t.ID, "error", err)
		}
		select {
		case <-time.After(notePause):
		case <-m.ctx.Done():
			return
		}
	}
	if t.Durable() {
		if err := m.book.RemoveParts(context.Background(), &t); err != nil {
			m.server.log.Warn("what a task did is kept although it is over", "task", t.ID, "error", err)
		}
	}
}

// settleTask makes a task what its run came to.
func settleTask(t *task.Task, resp Response) {
	result := rawjson.Get(resp.Body, "result")
	kind, _ := rawjson.String(rawjson.Get(result, "resultType"))
	switch {
	case resp.Body == nil && t.Kept:
		t.Lose()
	case resp.Body == nil:
		t.Status, t.Message = task.Failed, "the host was stopped while this task ran"
		t.Error = json.RawMessage(`{"code":-32603,"message":"the host was stopped while this task ran"}`)
	case resp.Err != nil:
		t.Status, t.Message, t.Error = task.Failed, jsonrpc.Clip(resp.Err.Message), rawjson.Get(resp.Body, "error")
	case kind == "input_required":
		t.State, _ = rawjson.String(rawjson.Get(result, "requestState"))
		t.Ask(members(rawjson.Get(result, "inputRequests")))
	default:
		t.Status, t.Result = task.Completed, result
	}
}

// watch adopts tasks whose process has gone, and ends those here that were cancelled elsewhere.
func (m *tasks) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for next := m.server.now(); ; {
		if now := m.server.now(); !now.Before(next) {
			next = now.Add(adoptEvery)
			m.adoptAll()
		}
		select {
		case <-tick.C:
		case <-m.ctx.Done():
			return
		}
		m.look()
		if err := m.book.Look(m.ctx); err != nil && m.ctx.Err() == nil {
			m.server.log.Warn("tasks that are watched cannot be looked at", "error", err)
		}
	}
}

// look ends the runs of tasks that are not this process's any more.
func (m *tasks) look() {
	m.mu.Lock()
	here := make([]string, 0, len(m.running))
	for id := range m.running {
		here = append(here, id)
	}
	m.mu.Unlock()
	if len(here) == 0 {
		return
	}
	running, err := m.book.Running(m.ctx)
	if err != nil {
		return // the next look
	}
	for _, id := range here {
		if !running[id] && m.book.Keeps(id) {
			m.cancel(id)
		}
	}
}

func (m *tasks) adoptAll() {
	orphans, err := m.book.Orphans(m.ctx)
	if err != nil && m.ctx.Err() == nil {
		m.server.log.Warn("tasks that were interrupted cannot be looked for", "error", err)
	}
	for _, t := range orphans {
		m.adopt(m.ctx, t)
	}
}

// adopt goes on with a task whose process has gone, unless another process does.
func (m *tasks) adopt(ctx context.Context, orphan task.Task) {
	t, ours, err := m.book.Adopt(ctx, orphan)
	switch {
	case err != nil && !errors.Is(err, task.ErrUnknown) && ctx.Err() == nil:
		m.server.log.Warn("a task that was interrupted cannot be taken over", "task", orphan.ID, "error", err)
	case ours:
		m.server.log.Info("goes on with a task of a host that has gone", "task", t.ID, "try", t.Tries)
		m.start(t)
	}
}

// keepJournal has the journal of a task's run kept while it runs, and takes in what was kept of it before.
func (r *request) keepJournal() error {
	t, book, j := r.task, r.server.tasks.book, r.resumption.journal
	if t == nil || !t.Durable() || t.Kept {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	sealed, err := book.Parts(ctx, t)
	if err != nil {
		return lostTask("what the task did cannot be read", err)
	}
	parts := make([][]byte, len(sealed))
	for i, text := range sealed {
		if parts[i], err = r.server.keys.Open(string(text)); err != nil {
			return lostTask("what the task did was kept with other keys", err)
		}
	}
	if err := j.Continue(parts); err != nil {
		return lostTask("the task did too much to be run again", err)
	}
	if family, what := j.Unfinished(); family == hostfuncs.LandingFamily {
		return &journal.UnknownError{What: what}
	}
	n := len(parts)
	j.Keep(func(part []byte) error {
		ctx, cancel := context.WithTimeout(context.Background(), storeTime)
		defer cancel()
		err := book.AddPart(ctx, t, n, []byte(r.server.keys.Seal(part)))
		if err == nil {
			n++
		}
		return err
	})
	return nil
}

// lostTask is the end of a task that was interrupted and cannot go on.
func lostTask(message string, err error) error {
	return &taskError{message: message + ", and its host has gone while it ran", err: err}
}

// taskError ends a task with an error of the protocol.
type taskError struct {
	message string
	err     error
}

func (e *taskError) Error() string { return e.message }
func (e *taskError) Unwrap() error { return e.err }

// mayBeCalledAgain ends what is said of a task that cannot go on, though its call is in order.
const mayBeCalledAgain = ", so it cannot go on: what it did until then stays done, and it may be called again"

// failedTask answers the run of a task that ended since its host had gone; ok is false if that is not why.
func (r *request) failedTask(err error) (body []byte, wire *jsonrpc.Error, ok bool) {
	var lost *taskError
	var unknown *journal.UnknownError
	message, retryable := "", "false"
	switch {
	case r.task == nil:
		return nil, nil, false
	case errors.As(err, &unknown):
		message = unknown.Error()
	case errors.As(err, &lost):
		message = lost.message
	case errors.Is(err, errNoTool):
		message, retryable = "the plugin of this task is not there any more, or does not offer "+jsonrpc.Clip(r.subject)+mayBeCalledAgain, "true"
	case errors.Is(err, journal.ErrOther):
		message, retryable = "the plugin of this task was replaced, or may do other things now"+mayBeCalledAgain, "true"
	default:
		return nil, nil, false
	}
	data := rawjson.Object{{Key: "kind", Value: rawjson.AppendString(nil, string(runtime.KindUnavailable))}, {Key: "retryable", Value: json.RawMessage(retryable)}}
	if unknown != nil {
		data.Set("unknown_outcome", json.RawMessage("true"))
		data.Set("request", rawjson.AppendString(nil, unknown.What))
	}
	r.server.log.Warn("a task failed", "task", r.task.ID, "call", r.call, "name", r.subject, "error", message, "cause", err)
	body, wire = r.errorReply(&jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: message, Data: data.Append(nil)})
	return body, wire, true
}
