package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// tasksExtension is the extension of calls that go on after their answer.
	tasksExtension = "io.modelcontextprotocol/tasks"
	// taskPoll is how often a client should ask how a task stands.
	taskPoll = time.Second
	// requiresTasks is what a client should have declared.
	requiresTasks = `{"extensions":{"` + tasksExtension + `":{}}}`
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
	work    sync.WaitGroup                // Add happens under mu, and not once closed is set
}

func newTasks(s *Server) *tasks {
	m := &tasks{server: s, book: task.NewBook(s.opts.Store, s.now), running: map[string]context.CancelFunc{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// close ends the tasks that run and waits for them. Those that wait for answers go on waiting.
func (m *tasks) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	m.work.Wait()
}

// declaresTasks reports whether the client of this request knows tasks.
func (r *request) declaresTasks() bool {
	return isObject(rawjson.Get(r.capabilities, "extensions", tasksExtension))
}

func missingTasks() *jsonrpc.Error {
	data := json.RawMessage(`{"requiredCapabilities":` + requiresTasks + `}`)
	return &jsonrpc.Error{Code: jsonrpc.CodeMissingCapability, Message: "the client does not declare " + tasksExtension, Data: data}
}

// asTask makes a call of a tool that supports it a task, if the client knows tasks. It is done if it
// answered. A tool that asks before it begins its work is run as a call until it has the answers.
func (r *request) asTask(ctx context.Context, t *registry.Tool) (body []byte, done bool, err error) {
	support, _ := rawjson.String(rawjson.Get(t.Definition, "execution", "taskSupport"))
	if !r.modern || r.inTask || support != "optional" && support != "required" {
		return nil, false, nil
	}
	switch {
	case !r.declaresTasks() && support == "required":
		return nil, true, missingTasks()
	case !r.declaresTasks():
		return nil, false, nil
	case t.AsksFirst && rawjson.IsNull(rawjson.Get(r.params, "requestState")):
		return nil, false, nil
	}
	body, err = r.server.tasks.open(ctx, r)
	return body, true, err
}

// open begins a task and answers with its handle, which is kept by then.
func (m *tasks) open(ctx context.Context, r *request) ([]byte, error) {
	principal := r.conn.opts.Principal
	t, err := m.book.Open(ctx, principal, durable(principal), slices.Clone(r.params))
	if errors.Is(err, task.ErrTooMany) {
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: err.Error()}
	} else if err != nil {
		return nil, err
	}
	m.start(t, t.Params)
	o := append(rawjson.Object{{Key: "resultType", Value: json.RawMessage(`"task"`)}}, describe(&t)...)
	o.Set("_meta", r.server.meta)
	return r.prepared(oneLine(o.Append(nil))), nil
}

// durable reports whether a principal's tasks outlive the process: nobody can prove to be the same
// anonymous.
func durable(principal string) bool { return principal != "" && principal != anonymous }

// start runs a task with params until it ends or asks.
func (m *tasks) start(t task.Task, params json.RawMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	ctx, cancel := context.WithDeadline(m.ctx, t.Expires())
	m.running[t.ID] = cancel
	m.work.Go(func() {
		defer cancel()
		defer m.renew(t)()
		resp := m.run(ctx, t, params)
		m.mu.Lock()
		delete(m.running, t.ID)
		m.mu.Unlock()
		m.note(t, resp)
	})
}

// renew says from time to time that this process still runs a task, until it is stopped.
func (m *tasks) renew(t task.Task) (stop func()) {
	ctx, cancel := context.WithCancel(m.ctx)
	if !t.Durable() {
		return cancel
	}
	m.work.Go(func() {
		tick := time.NewTicker(task.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if _, err := m.book.Change(ctx, t.Principal, t.ID, func(*task.Task) {}); err != nil && ctx.Err() == nil {
				m.server.log.Warn("a task cannot be kept", "task", t.ID, "error", err)
			}
		}
	})
	return cancel
}

// run is the call itself, which nobody waits for: as the client would send it.
func (m *tasks) run(ctx context.Context, t task.Task, params json.RawMessage) Response {
	c := m.server.Connect(ConnOptions{Principal: t.Principal})
	defer m.server.forget(c)
	r := &request{
		conn: c, server: m.server, id: json.RawMessage(`"task"`), method: "tools/call", params: params,
		modern: true, inTask: true, capabilities: rawjson.Get(params, "_meta", metaCapabilities),
		stop: func() {},
	}
	r.resumption.lasts = t.Expires().Sub(m.server.now())
	body, err := r.guarded(ctx, callTool)
	return r.respond(ctx, body, err)
}

// note writes down what came of a run.
func (m *tasks) note(t task.Task, resp Response) {
	_, err := m.book.Change(context.Background(), t.Principal, t.ID, func(t *task.Task) {
		result := rawjson.Get(resp.Body, "result")
		kind, _ := rawjson.String(rawjson.Get(result, "resultType"))
		switch {
		case resp.Body == nil:
			t.Status, t.Message = task.Failed, "the host was stopped while this task ran"
			t.Error = json.RawMessage(`{"code":-32603,"message":"the host was stopped while this task ran"}`)
		case resp.Err != nil:
			t.Status, t.Message, t.Error = task.Failed, clip(resp.Err.Message), rawjson.Get(resp.Body, "error")
		case kind == "input_required":
			t.Status = task.Input
			t.State, _ = rawjson.String(rawjson.Get(result, "requestState"))
			t.Requests, t.Answers = members(rawjson.Get(result, "inputRequests")), nil
		default:
			t.Status, t.Result = task.Completed, result
		}
	})
	if err != nil && !errors.Is(err, task.ErrUnknown) {
		m.server.log.Error("a task's outcome is lost", "task", t.ID, "error", err)
	}
}

// members are those of a JSON object.
func members(raw json.RawMessage) map[string]json.RawMessage {
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil
	}
	all := make(map[string]json.RawMessage, len(o))
	for _, m := range o {
		all[m.Key] = m.Value
	}
	return all
}

// describe is a task as clients see it.
func describe(t *task.Task) rawjson.Object {
	stamp := func(at time.Time) json.RawMessage {
		return rawjson.AppendString(nil, at.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	o := rawjson.Object{
		{Key: "taskId", Value: rawjson.AppendString(nil, t.ID)},
		{Key: "status", Value: rawjson.AppendString(nil, string(t.Status))},
		{Key: "createdAt", Value: stamp(t.Created)},
		{Key: "lastUpdatedAt", Value: stamp(t.Updated)},
		{Key: "ttlMs", Value: strconv.AppendInt(nil, t.TTL.Milliseconds(), 10)},
		{Key: "pollIntervalMs", Value: strconv.AppendInt(nil, taskPoll.Milliseconds(), 10)},
	}
	if t.Message != "" {
		o.Set("statusMessage", rawjson.AppendString(nil, t.Message))
	}
	return o
}

// theTask finds the task that a request names.
func (r *request) theTask(ctx context.Context) (task.Task, error) {
	if !r.declaresTasks() {
		return task.Task{}, missingTasks()
	}
	id, err := r.member("taskId")
	if err != nil {
		return task.Task{}, err
	}
	t, err := r.server.tasks.book.Get(ctx, r.conn.opts.Principal, id)
	return t, r.taskError(err)
}

func (r *request) taskError(err error) error {
	if errors.Is(err, task.ErrUnknown) {
		return invalidParams("unknown task")
	}
	return err
}

// getTask serves tasks/get.
func getTask(ctx context.Context, r *request) ([]byte, error) {
	t, err := r.theTask(ctx)
	if err != nil {
		return nil, err
	}
	o := append(rawjson.Object{{Key: "resultType", Value: json.RawMessage(`"complete"`)}}, describe(&t)...)
	switch t.Status {
	case task.Input:
		var requests rawjson.Object
		for _, key := range slices.Sorted(maps.Keys(t.Requests)) {
			requests = append(requests, rawjson.Member{Key: key, Value: t.Requests[key]})
		}
		o.Set("inputRequests", requests.Append(nil))
	case task.Completed:
		o.Set("result", t.Result)
	case task.Failed:
		o.Set("error", t.Error)
	}
	o.Set("_meta", r.server.meta)
	return r.prepared(oneLine(o.Append(nil))), nil
}

// updateTask serves tasks/update: answers to what a task asks. With the last of them it goes on.
func updateTask(ctx context.Context, r *request) ([]byte, error) {
	t, err := r.theTask(ctx)
	if err != nil {
		return nil, err
	}
	given, err := readResponses(rawjson.Get(r.params, "inputResponses"))
	if err != nil {
		return nil, err
	}
	answers := make(map[string]json.RawMessage, len(given))
	for _, m := range given {
		answers[m.Key] = slices.Clone(m.Value)
	}
	m := r.server.tasks
	goesOn := false
	t, err = m.book.Change(ctx, t.Principal, t.ID, func(t *task.Task) {
		if goesOn = t.Status == task.Input && t.Answer(answers); goesOn {
			m.book.Take(t)
		}
	})
	if err != nil {
		return nil, r.taskError(err)
	}
	if goesOn {
		m.start(t, t.Next())
	}
	return r.frame(nil, false), nil
}

// cancelTask serves tasks/cancel. One that is over stays as it is.
func cancelTask(ctx context.Context, r *request) ([]byte, error) {
	t, err := r.theTask(ctx)
	if err != nil {
		return nil, err
	}
	m := r.server.tasks
	if _, err := m.book.Change(ctx, t.Principal, t.ID, func(t *task.Task) {
		t.Status, t.Message = task.Cancelled, "cancelled by the client"
	}); err != nil {
		return nil, r.taskError(err)
	}
	m.mu.Lock()
	if cancel := m.running[t.ID]; cancel != nil {
		cancel()
	}
	m.mu.Unlock()
	return r.frame(nil, false), nil
}
