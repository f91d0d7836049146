package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/protocol/ask"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
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

// declaresTasks reports whether the client of this request knows tasks.
func (r *request) declaresTasks() bool {
	return rawjson.IsObject(rawjson.Get(r.capabilities, "extensions", tasksExtension))
}

func missingTasks() *jsonrpc.Error {
	data := json.RawMessage(`{"requiredCapabilities":` + requiresTasks + `}`)
	return &jsonrpc.Error{Code: jsonrpc.CodeMissingCapability, Message: "the client does not declare " + tasksExtension, Data: data}
}

// asTask makes a call of a tool that supports it a task, if the client knows tasks. It is done if it
// answered. A tool that asks before it begins its work is run as a call until it has the answers.
func (r *request) asTask(ctx context.Context, t *catalogue.Tool) (body []byte, done bool, err error) {
	support, _ := rawjson.String(rawjson.Get(t.Definition, "execution", "taskSupport"))
	if !r.modern {
		return r.asLegacyTask(ctx, t, support)
	}
	if r.task != nil || support != "optional" && support != "required" {
		return nil, false, nil
	}
	if err := r.findSession(); err != nil {
		return nil, true, err
	}
	resumed := !rawjson.IsNull(rawjson.Get(r.params, "requestState"))
	switch {
	case !r.declaresTasks() && support == "required":
		return nil, true, missingTasks()
	case !r.declaresTasks():
		return nil, false, nil
	case t.AsksFirst && !t.Keeps(r.session) && !resumed:
		return nil, false, nil
	case resumed && t.Keeps(r.session): // what waits in its instance ends as it began
		return nil, false, nil
	}
	begun, err := r.openOnce(ctx, t, slices.Clone(r.params), 0, func(string) {})
	if err != nil {
		return nil, true, err
	}
	o := append(rawjson.Object{{Key: "resultType", Value: json.RawMessage(`"task"`)}}, describe(&begun)...)
	o.Set("_meta", r.server.meta)
	r.tellSession(&o)
	return r.prepared(rawjson.OneLine(o.Append(nil))), true, nil
}

// openOnce begins a task. A call with an idempotency key that has begun one gets that. known hears of its name before
// it runs.
func (r *request) openOnce(ctx context.Context, tool *catalogue.Tool, params json.RawMessage, ttl time.Duration, known func(id string)) (task.Task, error) {
	w, err := r.wishes()
	if err != nil {
		return task.Task{}, err
	}
	if w.once != "" && !w.dryRun {
		if t, ok := r.begunOnce(ctx, tool.Name, w.once); ok {
			known(t.ID)
			return t, nil
		}
	}
	o := r.conn.opts
	return r.server.tasks.open(ctx, task.New{Principal: o.Principal, Durable: durable(o.Principal), Params: params, TTL: ttl,
		Kept: tool.Keeps(r.session), Session: r.session}, known)
}

// open begins a task, which is kept by then. known hears of its name before it runs.
func (m *tasks) open(ctx context.Context, n task.New, known func(id string)) (task.Task, error) {
	if n.Kept && !m.reserve() {
		return task.Task{}, tooManyKept()
	}
	t, err := m.book.Open(ctx, n)
	if err != nil && n.Kept {
		m.release()
	}
	switch {
	case errors.Is(err, task.ErrTooMany), errors.Is(err, store.ErrFull):
		return t, &runtime.EndError{Kind: runtime.KindLimit, Message: "there is no room for another task: " + err.Error(), Err: err}
	case err != nil:
		return t, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the task cannot be kept, so it does not begin", Err: err}
	}
	known(t.ID)
	m.start(t)
	return t, nil
}

// durable reports whether a principal's tasks outlive the process: nobody can prove to be the same
// anonymous.
func durable(principal string) bool { return principal != "" && principal != anonymous }

// theTask finds the task that a request names.
func (r *request) theTask(ctx context.Context) (task.Task, error) {
	if r.modern && !r.declaresTasks() {
		return task.Task{}, missingTasks()
	}
	if !r.modern && !r.knowsTasks() {
		return task.Task{}, r.notFound()
	}
	id, err := r.member("taskId")
	if err != nil {
		return task.Task{}, err
	}
	t, err := r.find(ctx, id)
	return t, r.taskError(err)
}

// find finds a task of the caller's. If its process has gone this one goes on with it.
func (r *request) find(ctx context.Context, id string) (task.Task, error) {
	m := r.server.tasks
	t, err := m.book.Get(ctx, r.conn.opts.Principal, id)
	if err == nil && m.book.Orphan(&t) {
		m.adopt(ctx, t)
		return m.book.Get(ctx, r.conn.opts.Principal, id)
	}
	return t, err
}

func (r *request) taskError(err error) error {
	if errors.Is(err, task.ErrUnknown) {
		return jsonrpc.InvalidParams("unknown task")
	}
	return err
}

// getTask serves tasks/get.
func getTask(ctx context.Context, r *request) ([]byte, error) {
	t, err := r.theTask(ctx)
	if err != nil {
		return nil, err
	}
	if !r.modern {
		return r.prepared(rawjson.OneLine(describeLegacy(&t).Append(nil))), nil
	}
	o := append(rawjson.Object{{Key: "resultType", Value: json.RawMessage(`"complete"`)}}, detail(&t)...)
	o.Set("_meta", r.server.meta)
	return r.prepared(rawjson.OneLine(o.Append(nil))), nil
}

// updateTask serves tasks/update: answers to what a task asks. With the last of them it goes on.
func updateTask(ctx context.Context, r *request) ([]byte, error) {
	t, err := r.theTask(ctx)
	if err != nil {
		return nil, err
	}
	given, err := ask.Responses(rawjson.Get(r.params, "inputResponses"))
	if err != nil {
		return nil, err
	}
	answers := make(map[string]json.RawMessage, len(given))
	for _, m := range given {
		answers[m.Key] = slices.Clone(m.Value)
	}
	if _, err := r.server.tasks.answer(ctx, t, answers); err != nil {
		return nil, r.taskError(err)
	}
	return r.frame(nil, false), nil
}

// answer takes in answers to what a task asks. With the last of them it goes on.
func (m *tasks) answer(ctx context.Context, t task.Task, answers map[string]json.RawMessage) (task.Task, error) {
	if err := m.book.Ready(); err != nil {
		return t, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the answers cannot be kept", Err: err}
	}
	goesOn := false
	t, err := m.book.Change(ctx, t.Principal, t.ID, func(t *task.Task) {
		if goesOn = t.Status == task.Input && t.Answer(answers); goesOn {
			m.book.Take(t)
		}
	})
	if err == nil && goesOn && !t.Kept { // which waits, and sees them
		m.start(t)
	}
	return t, err
}

// cancelTask serves tasks/cancel. One that is over stays as it is.
func cancelTask(ctx context.Context, r *request) ([]byte, error) {
	t, err := r.theTask(ctx)
	if err != nil {
		return nil, err
	}
	if !r.modern && t.Status.Over() {
		return nil, jsonrpc.InvalidParams("the task is over")
	}
	m := r.server.tasks
	t, err = m.book.Change(ctx, t.Principal, t.ID, func(t *task.Task) {
		t.Status, t.Message = task.Cancelled, "cancelled by the client"
	})
	if err != nil {
		return nil, r.taskError(err)
	}
	m.cancel(t.ID)
	if !r.modern {
		return r.prepared(rawjson.OneLine(describeLegacy(&t).Append(nil))), nil
	}
	return r.frame(nil, false), nil
}
