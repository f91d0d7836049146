package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/protocol/answer"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// onceTime is how long the answer of a call with an idempotency key is kept.
	onceTime = 24 * time.Hour
	// onceRunning is how long a call may run before its key counts as free again: its process was killed.
	onceRunning = 15 * time.Minute
)

// onceRecord is what is kept of a call with an idempotency key while it runs. Its label is the task that it is a run of.
func (r *request) onceRecord(tool, key string) store.Record {
	arguments := sha256.Sum256(rawjson.Get(r.params, "arguments"))
	sum := sha256.Sum256([]byte(r.conn.opts.Principal + "\x00" + tool + "\x00" + key))
	record := store.Record{
		ID: hex.EncodeToString(sum[:]), Principal: r.conn.opts.Principal, Data: arguments[:], Expires: time.Now().Add(onceRunning),
	}
	if r.task != nil {
		record.Label, record.Expires = r.task.ID, r.task.Expires()
	}
	return record
}

// once runs a call with an idempotency key at most once: the first one's answer is that of all. A call that
// failed may be made again.
func (r *request) once(ctx context.Context, tool, key string, run func() (rawjson.Object, error)) (rawjson.Object, error) {
	kept, wanted := r.server.opts.Store, r.onceRecord(tool, key)
	record, err := kept.Add(ctx, store.Reply, wanted)
	if errors.Is(err, store.ErrExists) {
		record, err = r.takeKey(ctx, wanted)
	}
	switch {
	case errors.Is(err, store.ErrExists):
		return r.repeated(ctx, wanted)
	case err != nil:
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the idempotency key cannot be kept", Err: err}
	}
	after := context.WithoutCancel(ctx)
	o, err := run()
	if r.task != nil && (errors.Is(err, hostfuncs.ErrSuspended) || ctx.Err() != nil) {
		return o, err // the task goes on, or is over: takeKey finds out
	}
	if err != nil || answer.Failed(o) {
		if err := kept.Remove(after, store.Reply, record.ID); err != nil {
			r.server.log.Warn("an idempotency key cannot be freed", "call", r.call, "error", err)
		}
		return o, err
	}
	record.Data, record.Expires = o.Append(bytes.Clone(wanted.Data)), time.Now().Add(onceTime)
	if _, err := kept.Replace(after, store.Reply, record); err != nil {
		r.server.log.Warn("an answer cannot be kept for its idempotency key", "call", r.call, "error", err)
	}
	return o, nil
}

// takeKey takes a key that is in use over from an earlier run of this task, or from a task that is over. The error is
// store.ErrExists if it is somebody else's, or has its answer.
func (r *request) takeKey(ctx context.Context, wanted store.Record) (store.Record, error) {
	first, err := r.server.opts.Store.Get(ctx, store.Reply, wanted.ID)
	switch {
	case err != nil || first.Label == "" || len(first.Data) != len(wanted.Data):
		return first, store.ErrExists
	case r.task == nil || first.Label != r.task.ID:
		other, err := r.server.tasks.Book.Get(ctx, r.conn.opts.Principal, first.Label)
		if err == nil && !other.Status.Over() || err != nil && !errors.Is(err, task.ErrUnknown) {
			return first, store.ErrExists
		}
	}
	wanted.Version = first.Version
	record, err := r.server.opts.Store.Replace(ctx, store.Reply, wanted)
	if errors.Is(err, store.ErrConflict) { // somebody was faster
		err = store.ErrExists
	}
	return record, err
}

// begunOnce finds the task that a call with the same key and arguments has begun; ok is false if there is none.
func (r *request) begunOnce(ctx context.Context, tool, key string) (t task.Task, ok bool) {
	wanted := r.onceRecord(tool, key)
	first, err := r.server.opts.Store.Get(ctx, store.Reply, wanted.ID)
	if err != nil || first.Label == "" || !bytes.HasPrefix(first.Data, wanted.Data) {
		return t, false
	}
	t, err = r.find(ctx, first.Label)
	return t, err == nil && (t.Status == task.Completed || !t.Status.Over())
}

// repeated is the answer of the first call with a key.
func (r *request) repeated(ctx context.Context, wanted store.Record) (rawjson.Object, error) {
	first, err := r.server.opts.Store.Get(ctx, store.Reply, wanted.ID)
	switch {
	case err != nil:
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the first call with this idempotency key has just failed", Err: err}
	case !bytes.HasPrefix(first.Data, wanted.Data):
		return nil, jsonrpc.InvalidParams("the idempotency key was used with other arguments")
	case len(first.Data) == len(wanted.Data):
		return nil, &runtime.EndError{Kind: runtime.KindConflict, Message: "a call with this idempotency key is running"}
	}
	o, err := rawjson.ParseObject(json.RawMessage(first.Data[len(wanted.Data):]))
	if err == nil && (r.task == nil || first.Label != r.task.ID) { // else the task was killed when it had its own answer
		meta.Set(&o, "dev.sallyport/repeated", json.RawMessage("true"))
	}
	return o, err
}
