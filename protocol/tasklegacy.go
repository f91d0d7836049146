package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/ask"
	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Tasks of 2025-11-25 differ from the extension of today in who wants one (the client, in params.task), in how
// their questions arrive (as requests, while the client waits in tasks/result), and in their names.

const (
	// relatedTask is the _meta key that says which task a message belongs to.
	relatedTask = "io.modelcontextprotocol/related-task"
	// resultLook is how often tasks/result looks at a task: it may run in another process.
	resultLook = 50 * time.Millisecond
	// taskPage is how many tasks a page of tasks/list has.
	taskPage = 100
)

// knowsTasks reports whether the legacy session has tasks.
func (r *request) knowsTasks() bool { return r.conn.session() == era.V20251125 }

// legacyTasks is what a server of 2025-11-25 declares. Who cannot be told from others gets no list: it would
// show theirs.
func (c *Conn) legacyTasks() json.RawMessage {
	if durable(c.opts.Principal) {
		return json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)
	}
	return json.RawMessage(`{"cancel":{},"requests":{"tools":{"call":{}}}}`)
}

// asLegacyTask makes a call a task whose client wants it to be one.
func (r *request) asLegacyTask(ctx context.Context, t *catalogue.Tool, support string) (body []byte, done bool, err error) {
	if !r.knowsTasks() {
		return nil, false, nil
	}
	wanted, may := rawjson.Get(r.params, "task"), support == "optional" || support == "required"
	switch {
	case rawjson.IsNull(wanted) && support == "required":
		return nil, true, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the tool " + jsonrpc.Clip(t.Name) + " is called as a task: send params.task"}
	case rawjson.IsNull(wanted):
		return nil, false, nil
	case !rawjson.IsObject(wanted):
		return nil, true, jsonrpc.InvalidParams("params.task must be an object")
	case !may:
		return nil, true, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the tool " + jsonrpc.Clip(t.Name) + " cannot be called as a task"}
	}
	ttl, err := ttlOf(rawjson.Get(wanted, "ttl"))
	if err != nil {
		return nil, true, err
	}
	params, err := rawjson.ParseObject(r.params)
	if err != nil {
		return nil, true, jsonrpc.InvalidParams("%v", err)
	}
	params.Delete("task")
	meta.Set(&params, era.MetaCapabilities, r.declared().Object())
	r.session = r.conn.opts.Session
	begun, err := r.openOnce(ctx, t, params.Append(nil), ttl, func(id string) { r.conn.watchTask(ctx, id) })
	if err != nil {
		return nil, true, err
	}
	return r.prepared(rawjson.OneLine(rawjson.Object{{Key: "task", Value: begun.DescribeLegacy().Append(nil)}}.Append(nil))), true, nil
}

// ttlOf reads how long a client wants a task to be kept; 0 if it does not say.
func ttlOf(raw json.RawMessage) (time.Duration, error) {
	if rawjson.IsNull(raw) {
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
	if !r.knowsTasks() || !durable(r.conn.opts.Principal) {
		return nil, r.notFound()
	}
	after := ""
	if raw := rawjson.Get(r.params, "cursor"); raw != nil {
		cursor, ok := rawjson.String(raw)
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
	o := rawjson.Object{{Key: "tasks", Value: rawjson.Array(entries)}}
	if more {
		o.Set("nextCursor", rawjson.AppendString(nil, list[len(list)-1].ID))
	}
	return r.prepared(rawjson.OneLine(o.Append(nil))), nil
}

// taskResult serves tasks/result: it waits until the task is over, and asks what the task asks meanwhile.
func taskResult(ctx context.Context, r *request) ([]byte, error) {
	if !r.knowsTasks() {
		return nil, r.notFound()
	}
	for {
		t, err := r.theTask(ctx)
		if err != nil {
			return nil, err
		}
		if t.Status.Over() {
			return r.taskOutcome(&t)
		}
		if t.Status == task.Input {
			if err := r.askForTask(ctx, &t, true); err != nil {
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

// taskOutcome is what the call would have been answered.
func (r *request) taskOutcome(t *task.Task) ([]byte, error) {
	switch t.Status {
	case task.Cancelled:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the task was cancelled"}
	case task.Failed:
		code, err := strconv.Atoi(string(rawjson.Get(t.Error, "code")))
		if err != nil {
			code = jsonrpc.CodeInternal
		}
		message, _ := rawjson.String(rawjson.Get(t.Error, "message"))
		return nil, &jsonrpc.Error{Code: code, Message: message, Data: rawjson.Get(t.Error, "data")}
	}
	o, err := rawjson.ParseObject(t.Result)
	if err != nil {
		return nil, err
	}
	o.Delete("resultType")
	if structured := o.Get("structuredContent"); structured != nil && !rawjson.IsObject(structured) {
		o.Delete("structuredContent") // this revision knows objects only
	}
	meta, _ := rawjson.ParseObject(o.Get("_meta"))
	meta.Delete(era.MetaServerInfo)
	meta.Set(relatedTask, relation(t))
	o.Set("_meta", meta.Append(nil))
	return r.prepared(rawjson.OneLine(o.Append(nil))), nil
}

func relation(t *task.Task) json.RawMessage {
	return rawjson.Object{{Key: "taskId", Value: rawjson.AppendString(nil, t.ID)}}.Append(nil)
}

// askForTask sends the questions of a task to its client, unless somebody does so already. Silence is an answer if it
// is final; else the task goes on waiting.
func (r *request) askForTask(ctx context.Context, t *task.Task, final bool) error {
	m := r.server.tasks
	if !m.ClaimQuestions(t.ID) {
		return nil
	}
	defer m.ReleaseQuestions(t.ID)
	ctx, cancel := context.WithTimeoutCause(ctx, r.server.opts.AskTime, runtime.ErrUnanswered)
	defer cancel()
	if err := r.conn.awaitReady(ctx); err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(t.Requests))
	waits := make([]*ask.Sent, 0, len(keys))
	defer func() {
		for _, w := range waits {
			w.Drop()
		}
	}()
	for _, key := range keys {
		method, _ := rawjson.String(rawjson.Get(t.Requests[key], "method"))
		params, _ := rawjson.ParseObject(rawjson.Get(t.Requests[key], "params"))
		meta.Set(&params, relatedTask, relation(t))
		w, err := r.conn.desk.Send(method, params.Append(nil), r.stream.Tell)
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
			return ctx.Err() // the task goes on waiting
		case silent && !final:
			return nil
		}
		if answers[keys[i]] = a.Result; a.Err != nil || !rawjson.IsObject(a.Result) {
			answers[keys[i]] = json.RawMessage(`{"action":"cancel"}`) // what no question takes for a yes
		}
	}
	_, err := m.Answer(ctx, *t, answers)
	return r.taskError(err)
}
