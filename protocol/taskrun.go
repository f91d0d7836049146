package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// newTasks returns the task runner of the server.
func (s *Server) newTasks() *task.Runner {
	return task.NewRunner(task.RunnerOptions{Run: s.runTask, May: s.mayRun, Store: s.opts.Store, Tasks: s.opts.Tasks, Keys: s.keys, Now: s.now, Log: s.log})
}

// taskMark identifies the servers that may continue a task after its process ends. It is sealed, so only servers
// with the same keys can.
type taskMark struct {
	Site  string `json:"site"`  // Options.Site
	Terms []byte `json:"terms"` // of the tool
}

// mark returns the sealed mark for a task of this tool.
func (s *Server) mark(tool *catalog.Tool) string {
	plain, err := json.Marshal(taskMark{s.opts.Site, tool.Terms()})
	if err != nil {
		return "" // cannot fail for a string and bytes
	}
	return s.keys.Seal(plain)
}

// mayRun reports whether this server may continue a task of another process: it needs the keys and the tool under
// the same terms. A server of the same site may also take the task, which then fails: at once if the terms of the tool
// changed, or when its client requests it (asked) if the tool is missing, as the plugin may still be loading.
func (s *Server) mayRun(t *task.Task, asked bool) bool {
	plain, err := s.keys.Open(t.Mark)
	var m taskMark
	if err != nil || json.Unmarshal(plain, &m) != nil {
		return false
	}
	name, _ := jsonraw.String(jsonraw.Get(t.Params, "name"))
	tool, offered := s.catalog.Snapshot().Tool(name)
	if offered && bytes.Equal(tool.Terms(), m.Terms) {
		return true
	}
	return m.Site == s.opts.Site && (offered || asked)
}

// runTask performs the call of a task as if the client had sent it.
func (s *Server) runTask(ctx context.Context, t *task.Task) task.Outcome {
	params := t.Params
	if t.State != "" {
		params = t.Next()
	}
	c := s.Connect(ConnOptions{Principal: t.Principal, Roles: t.Roles, Proof: t.Proof, Session: t.Session})
	defer s.conns.remove(c)
	call := envelope.Parse(&jsonrpc.Message{ID: json.RawMessage(`"task"`), Method: "tools/call", Params: params})
	call.Modern = true
	r := newRequest(c, call, func(msg []byte) { s.tasks.Clients.Tell(t.ID, msg) })
	r.task, r.stop = t, func() {}
	r.observe(true)
	r.resumption.lasts = t.Expires().Sub(s.now())
	body, err := r.guard(ctx, callTool)
	resp := r.respond(ctx, body, err)
	return task.Outcome{Body: resp.Body, Err: resp.Err}
}

// mayBeCalledAgain is the end of the error text for a task that cannot continue although its call is valid.
const mayBeCalledAgain = ", so it cannot continue: its earlier effects remain, and it may be called again"

// failTask answers a task that failed after its process was lost, or returns ok false.
func failTask(r *request, err error) (body []byte, wire *jsonrpc.Error, ok bool) {
	var lost *task.LostError
	var unknown *journal.UnknownError
	message, retryable := "", "false"
	switch {
	case r.task == nil:
		return nil, nil, false
	case errors.As(err, &unknown):
		message = unknown.Error()
	case errors.As(err, &lost):
		message = lost.Message
	case errors.Is(err, errNoTool):
		message, retryable = "the plugin of this task is not there any more, or does not offer "+jsonrpc.Clip(r.subject)+mayBeCalledAgain, "true"
	case errors.Is(err, journal.ErrOther):
		message, retryable = "the plugin of this task was replaced, or may do other things now"+mayBeCalledAgain, "true"
	default:
		return nil, nil, false
	}
	data := jsonraw.Object{{Key: "kind", Value: jsonraw.AppendString(nil, string(runtime.KindUnavailable))}, {Key: "retryable", Value: json.RawMessage(retryable)}}
	if unknown != nil {
		data.Set("unknown_outcome", json.RawMessage("true"))
		data.Set("request", jsonraw.AppendString(nil, unknown.What))
	}
	if outside := r.outside(r.resumption.journal); outside != nil {
		data.Set("done", outside)
	}
	r.log.Warn("a task failed", "task", r.task.ID, "call", r.id, "name", r.subject, "error", message, "cause", err, r.trace.Attr())
	body, wire = r.errorReply(&jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: message, Data: data.Append(nil)})
	return body, wire, true
}
