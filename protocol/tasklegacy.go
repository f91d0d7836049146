package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Tasks of 2025-11-25 differ from the current extension in three ways: the client requests one (params.task),
// questions are sent as requests while the client waits in tasks/result, and names differ.

const (
	// relatedTask is the _meta key with the task ID of a message.
	relatedTask = "io.modelcontextprotocol/related-task"
	// resultLook is the polling interval of tasks/result, as the task may run in another process.
	resultLook = 50 * time.Millisecond
	// taskPage is the page size of tasks/list.
	taskPage = 100
)

// knowsTasks reports whether the legacy session has tasks.
func (c *Conn) knowsTasks() bool { return c.legacy.version() == envelope.V20251125 }

// legacyTasks returns the tasks capability of 2025-11-25. Anonymous callers get no tasks/list, which would show the
// tasks of others.
func (c *Conn) legacyTasks() json.RawMessage {
	if identity.Named(c.opts.Principal) {
		return json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)
	}
	return json.RawMessage(`{"cancel":{},"requests":{"tools":{"call":{}}}}`)
}

// callAsLegacyTask runs a call as a task if the client requested it.
func callAsLegacyTask(ctx context.Context, r *request, t *catalog.Tool, support string) (body []byte, done bool, err error) {
	if !r.conn.knowsTasks() {
		return nil, false, nil
	}
	wanted, may := jsonraw.Get(r.call.Params, "task"), support == "optional" || support == "required"
	switch {
	case jsonraw.IsNull(wanted) && support == "required":
		return nil, true, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the tool " + jsonrpc.Clip(t.Name) + " is called as a task: send params.task"}
	case jsonraw.IsNull(wanted):
		return nil, false, nil
	case !jsonraw.IsObject(wanted):
		return nil, true, jsonrpc.InvalidParams("params.task must be an object")
	case !may:
		return nil, true, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the tool " + jsonrpc.Clip(t.Name) + " cannot be called as a task"}
	}
	ttl, err := ttlOf(jsonraw.Get(wanted, "ttl"))
	if err != nil {
		return nil, true, err
	}
	params, err := jsonraw.ParseObject(r.call.Params)
	if err != nil {
		return nil, true, jsonrpc.InvalidParams("%v", err)
	}
	params.Delete("task")
	untrusted.SetMeta(&params, envelope.MetaCapabilities, r.declared().Object())
	if r.session = r.conn.opts.Session; t.Keeps(r.session) {
		if err := r.conn.keep(ctx); err != nil {
			return nil, true, err
		}
	}
	begun, err := openTask(ctx, r, t, params.Append(nil), ttl, func(id string) { r.conn.watchTask(ctx, id) })
	if err != nil {
		return nil, true, err
	}
	return r.prepared(jsonraw.OneLine(jsonraw.Object{{Key: "task", Value: begun.DescribeLegacy().Append(nil)}}.Append(nil))), true, nil
}

// ttlOf parses the requested lifetime of a task; 0 means unspecified.
func ttlOf(raw json.RawMessage) (time.Duration, error) {
	if jsonraw.IsNull(raw) {
		return 0, nil
	}
	ms, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || ms <= 0 {
		return 0, jsonrpc.InvalidParams("params.task.ttl is a whole number of milliseconds above zero")
	}
	const longest = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(ms, longest)) * time.Millisecond, nil
}

// listTasks serves tasks/list.
func listTasks(ctx context.Context, r *request) ([]byte, error) {
	if !r.conn.knowsTasks() || !identity.Named(r.conn.opts.Principal) {
		return nil, notFound(r.call.Method)
	}
	after := ""
	if raw := jsonraw.Get(r.call.Params, "cursor"); raw != nil {
		cursor, ok := jsonraw.String(raw)
		if !ok {
			return nil, jsonrpc.InvalidParams("params.cursor must be a string")
		}
		after = cursor
	}
	list, err := r.server.tasks.Book.List(ctx, r.conn.opts.Principal, after, taskPage+1)
	if err != nil {
		return nil, err
	}
	more := len(list) > taskPage
	list = list[:min(len(list), taskPage)]
	entries := make([]json.RawMessage, len(list))
	for i := range list {
		entries[i] = list[i].DescribeLegacy().Append(nil)
	}
	o := jsonraw.Object{{Key: "tasks", Value: jsonraw.Array(entries)}}
	if more {
		o.Set("nextCursor", jsonraw.AppendString(nil, list[len(list)-1].ID))
	}
	return r.prepared(jsonraw.OneLine(o.Append(nil))), nil
}

// taskResult serves tasks/result. It waits for the end of the task and sends its questions meanwhile.
func taskResult(ctx context.Context, r *request) ([]byte, error) {
	if !r.conn.knowsTasks() {
		return nil, notFound(r.call.Method)
	}
	for {
		t, err := namedTask(ctx, r)
		if err != nil {
			return nil, err
		}
		if t.Status.Over() {
			return taskOutcome(r, &t)
		}
		if t.Status == task.Input {
			if err := r.conn.askForTask(ctx, &t, r.stream.Tell, true); err != nil {
				return nil, err
			}
		}
		select {
		case <-time.After(resultLook):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// taskOutcome returns the result of the underlying call.
func taskOutcome(r *request, t *task.Task) ([]byte, error) {
	switch t.Status {
	case task.Cancelled:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the task was cancelled"}
	case task.Failed:
		code, err := strconv.Atoi(string(jsonraw.Get(t.Error, "code")))
		if err != nil {
			code = jsonrpc.CodeInternal
		}
		message, _ := jsonraw.String(jsonraw.Get(t.Error, "message"))
		return nil, &jsonrpc.Error{Code: code, Message: message, Data: jsonraw.Get(t.Error, "data")}
	}
	o, err := jsonraw.ParseObject(t.Result)
	if err != nil {
		return nil, err
	}
	o.Delete("resultType")
	if structured := o.Get("structuredContent"); structured != nil && !jsonraw.IsObject(structured) {
		o.Delete("structuredContent") // this revision allows only objects
	}
	meta, _ := jsonraw.ParseObject(o.Get("_meta"))
	meta.Delete(envelope.MetaServerInfo)
	meta.Set(relatedTask, relation(t))
	o.Set("_meta", meta.Append(nil))
	return r.prepared(jsonraw.OneLine(o.Append(nil))), nil
}

func relation(t *task.Task) json.RawMessage {
	return jsonraw.Object{{Key: "taskId", Value: jsonraw.AppendString(nil, t.ID)}}.Append(nil)
}

// askForTask sends the questions of a task to its client by tell, unless they are already being asked, here or by another
// process. If final, no answer counts as cancelled; otherwise the task continues to wait.
func (c *Conn) askForTask(ctx context.Context, t *task.Task, tell func(...[]byte), final bool) error {
	m := c.server.tasks
	now, release, ok, err := m.ClaimQuestions(ctx, *t, c.server.opts.AskTime)
	if err != nil || !ok {
		return taskError(err)
	}
	defer release()
	t = &now
	ctx, cancel := context.WithTimeoutCause(ctx, c.server.opts.AskTime, runtime.ErrUnanswered)
	defer cancel()
	if err := c.legacy.awaitReady(ctx); err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(t.Requests))
	waits := make([]*inputrequest.Sent, 0, len(keys))
	defer func() {
		for _, w := range waits {
			w.Drop()
		}
	}()
	for _, key := range keys {
		method, _ := jsonraw.String(jsonraw.Get(t.Requests[key], "method"))
		params, _ := jsonraw.ParseObject(jsonraw.Get(t.Requests[key], "params"))
		untrusted.SetMeta(&params, relatedTask, relation(t))
		w, err := c.legacy.desk.Send(method, params.Append(nil), tell)
		if err != nil {
			return err
		}
		waits = append(waits, w)
	}
	answers := map[string]json.RawMessage{}
	for i, w := range waits {
		a := w.Wait(ctx)
		switch silent := errors.Is(context.Cause(ctx), runtime.ErrUnanswered); {
		case ctx.Err() != nil && !silent:
			return ctx.Err() // the task continues to wait
		case silent && !final:
			return nil
		}
		if answers[keys[i]] = a.Result; a.Err != nil || !jsonraw.IsObject(a.Result) {
			answers[keys[i]] = json.RawMessage(`{"action":"cancel"}`) // never taken as consent
		}
	}
	_, err = m.Answer(ctx, *t, answers)
	return taskError(err)
}
