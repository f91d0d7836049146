package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// requiresTasks is the capability required for tasks.
const requiresTasks = `{"extensions":{"` + extensionTasks + `":{}}}`

func missingTasks() *jsonrpc.Error {
	data := json.RawMessage(`{"requiredCapabilities":` + requiresTasks + `}`)
	return &jsonrpc.Error{Code: jsonrpc.CodeMissingCapability, Message: "the client does not declare " + extensionTasks, Data: data}
}

// callAsTask runs a call as a task if both the tool and the client support it; done reports whether it answered. A tool
// that asks before it starts its work runs as a call until it has the answers.
func callAsTask(ctx context.Context, r *request, t *catalog.Tool) (body []byte, done bool, err error) {
	support, _ := jsonraw.String(jsonraw.Get(t.Definition, "execution", "taskSupport"))
	if !r.call.Modern {
		return callAsLegacyTask(ctx, r, t, support)
	}
	if r.task != nil || support != "optional" && support != "required" {
		return nil, false, nil
	}
	if err := r.findSession(); err != nil {
		return nil, true, err
	}
	resumed := !jsonraw.IsNull(jsonraw.Get(r.call.Params, "requestState"))
	switch {
	case !r.call.Declares(extensionTasks) && support == "required":
		return nil, true, missingTasks()
	case !r.call.Declares(extensionTasks):
		return nil, false, nil
	case t.AsksFirst && !t.Keeps(r.session) && !resumed:
		return nil, false, nil
	case resumed && t.Keeps(r.session): // a call suspended in its instance ends in the form it began
		return nil, false, nil
	}
	begun, err := openTask(ctx, r, t, slices.Clone(r.call.Params), 0, func(string) {})
	if err != nil {
		return nil, true, err
	}
	o := append(jsonraw.Object{{Key: "resultType", Value: json.RawMessage(`"task"`)}}, begun.Describe()...)
	o.Set("_meta", r.form.Meta)
	r.nameSession(&o)
	return r.prepared(jsonraw.OneLine(o.Append(nil))), true, nil
}

// openTask opens a task. If the idempotency key of the call already has one, that task is returned. known is called
// with its ID before it runs.
func openTask(ctx context.Context, r *request, tool *catalog.Tool, params json.RawMessage, ttl time.Duration, known func(id string)) (task.Task, error) {
	w, err := wishes(r)
	if err != nil {
		return task.Task{}, err
	}
	o := r.conn.opts
	n := task.New{Durable: identity.Named(o.Principal), Spec: task.Spec{
		Principal: o.Principal, Roles: r.caller.Roles(), Proof: o.Proof, Params: params, TTL: ttl,
		Kept: tool.Keeps(r.session), Session: r.session, Mark: r.server.mark(tool),
	}}
	if w.Once != "" && !w.DryRun {
		return openTaskOnce(ctx, r, tool.Name, w.Once, n, known)
	}
	return r.server.tasks.Open(ctx, n, known)
}

// namedTask finds the task named by the request.
func namedTask(ctx context.Context, r *request) (task.Task, error) {
	if r.call.Modern && !r.call.Declares(extensionTasks) {
		return task.Task{}, missingTasks()
	}
	if !r.call.Modern && !r.conn.knowsTasks() {
		return task.Task{}, notFound(r.call.Method)
	}
	id, err := r.call.Text("taskId")
	if err != nil {
		return task.Task{}, err
	}
	t, err := r.conn.task(ctx, id)
	return t, taskError(err)
}

// task returns a task of the caller.
func (c *Conn) task(ctx context.Context, id string) (task.Task, error) {
	return c.server.tasks.Find(ctx, c.opts.Principal, id)
}

func taskError(err error) error {
	switch {
	case errors.Is(err, task.ErrUnknown):
		return jsonrpc.InvalidParams("unknown task")
	case errors.Is(err, store.ErrUnavailable):
		return &runtime.EndError{Kind: runtime.KindUnavailable, Message: "tasks cannot be reached at present: send the request again", Err: err}
	}
	return err
}

// getTask serves tasks/get.
func getTask(ctx context.Context, r *request) ([]byte, error) {
	t, err := namedTask(ctx, r)
	if err != nil {
		return nil, err
	}
	if !r.call.Modern {
		return r.prepared(jsonraw.OneLine(t.DescribeLegacy().Append(nil))), nil
	}
	o := append(jsonraw.Object{{Key: "resultType", Value: json.RawMessage(`"complete"`)}}, t.Detail()...)
	o.Set("_meta", r.form.Meta)
	return r.prepared(jsonraw.OneLine(o.Append(nil))), nil
}

// updateTask serves tasks/update with answers to a task's questions. The last answer resumes the task.
func updateTask(ctx context.Context, r *request) ([]byte, error) {
	t, err := namedTask(ctx, r)
	if err != nil {
		return nil, err
	}
	given, err := inputrequest.Responses(jsonraw.Get(r.call.Params, "inputResponses"))
	if err != nil {
		return nil, err
	}
	answers := make(map[string]json.RawMessage, len(given))
	for _, m := range given {
		answers[m.Key] = slices.Clone(m.Value)
	}
	if _, err := r.server.tasks.Answer(ctx, t, answers); err != nil {
		return nil, taskError(err)
	}
	return r.frame(nil, false), nil
}

// cancelTask serves tasks/cancel. Finished tasks do not change.
func cancelTask(ctx context.Context, r *request) ([]byte, error) {
	t, err := namedTask(ctx, r)
	if err != nil {
		return nil, err
	}
	if !r.call.Modern && t.Status.Over() {
		return nil, jsonrpc.InvalidParams("the task is over")
	}
	if t, err = r.server.tasks.Cancel(ctx, t); err != nil {
		return nil, taskError(err)
	}
	if !r.call.Modern {
		return r.prepared(jsonraw.OneLine(t.DescribeLegacy().Append(nil))), nil
	}
	return r.frame(nil, false), nil
}
