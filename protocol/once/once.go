// Package once runs a call with an idempotency key at most once: the first one's answer is that of all.
//
//	Do ──▶ the key is free ──▶ run ──▶ the answer is kept, for a day
//	  └──▶ it is in use: another runs, or ran ──▶ its answer, or a refusal
//
// A key belongs to one principal, one tool and one set of arguments. A call that failed frees it. The record of a key is
// in a store, so that processes which share it agree; the process of a call may be killed, and its key counts as free
// after a while. A call that is a task holds its key as long as the task goes on, in whichever process.
//
// This package is internal to Sallyport: it is not promised to others.
package once

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/protocol/answer"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// keptFor is how long the answer of a call is kept.
	keptFor = 24 * time.Hour
	// runsFor is how long a call may run before its key counts as free again: its process was killed.
	runsFor = 15 * time.Minute
)

// Keeper keeps keys and answers.
type Keeper struct {
	Store *store.Store
	// Over reports whether a task of a principal is over, or not there any more.
	Over func(ctx context.Context, principal, task string) bool
}

// Call is a call with an idempotency key.
type Call struct {
	Principal string
	Tool      string
	Key       string
	Arguments json.RawMessage
	// Task is the task that it is a run of, and Ends when that ends at the latest; "" if it is none.
	Task string
	Ends time.Time
	// Log hears of what cannot be kept.
	Log *slog.Logger
}

// record is what is kept of a call while it runs. Its label is the task that it is a run of.
func (c *Call) record() store.Record {
	arguments := sha256.Sum256(c.Arguments)
	sum := sha256.Sum256([]byte(c.Principal + "\x00" + c.Tool + "\x00" + c.Key))
	record := store.Record{
		ID: hex.EncodeToString(sum[:]), Principal: c.Principal, Data: arguments[:], Expires: time.Now().Add(runsFor),
	}
	if c.Task != "" {
		record.Label, record.Expires = c.Task, c.Ends
	}
	return record
}

// Do runs a call, or gives the answer of the one that had its key before.
func (k *Keeper) Do(ctx context.Context, c Call, run func() (rawjson.Object, error)) (rawjson.Object, error) {
	wanted := c.record()
	record, err := k.Store.Add(ctx, store.Reply, wanted)
	if errors.Is(err, store.ErrExists) {
		record, err = k.takeOver(ctx, &c, wanted)
	}
	switch {
	case errors.Is(err, store.ErrExists):
		return k.repeated(ctx, &c, wanted)
	case errors.Is(err, store.ErrFull):
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: "the idempotency key cannot be kept: " + err.Error(), Err: err}
	case err != nil:
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the idempotency key cannot be kept", Err: err}
	}
	o, err := run()
	if c.Task != "" && (errors.Is(err, hostfuncs.ErrSuspended) || ctx.Err() != nil) {
		return o, err // the task goes on, or is over: takeOver finds out
	}
	after := context.WithoutCancel(ctx)
	if err != nil || answer.Failed(o) {
		if err := k.Store.Remove(after, store.Reply, record.ID); err != nil {
			c.Log.Warn("an idempotency key cannot be freed", "error", err)
		}
		return o, err
	}
	record.Data, record.Expires = o.Append(bytes.Clone(wanted.Data)), time.Now().Add(keptFor)
	if _, err := k.Store.Replace(after, store.Reply, record); err != nil {
		c.Log.Warn("an answer cannot be kept for its idempotency key", "error", err)
	}
	return o, nil
}

// takeOver takes a key that is in use over from an earlier run of this task, or from a task that is over. The error is
// store.ErrExists if it is somebody else's, or has its answer.
func (k *Keeper) takeOver(ctx context.Context, c *Call, wanted store.Record) (store.Record, error) {
	first, err := k.Store.Get(ctx, store.Reply, wanted.ID)
	switch {
	case err != nil || first.Label == "" || len(first.Data) != len(wanted.Data):
		return first, store.ErrExists
	case first.Label != c.Task && !k.Over(ctx, c.Principal, first.Label):
		return first, store.ErrExists
	}
	wanted.Version = first.Version
	record, err := k.Store.Replace(ctx, store.Reply, wanted)
	if errors.Is(err, store.ErrConflict) { // somebody was faster
		err = store.ErrExists
	}
	return record, err
}

// Task returns the task that a call with the same key and arguments has begun; "" if there is none.
func (k *Keeper) Task(ctx context.Context, c Call) string {
	wanted := c.record()
	first, err := k.Store.Get(ctx, store.Reply, wanted.ID)
	if err != nil || !bytes.HasPrefix(first.Data, wanted.Data) {
		return ""
	}
	return first.Label
}

// repeated is the answer of the first call with a key.
func (k *Keeper) repeated(ctx context.Context, c *Call, wanted store.Record) (rawjson.Object, error) {
	first, err := k.Store.Get(ctx, store.Reply, wanted.ID)
	switch {
	case err != nil:
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the first call with this idempotency key has just failed", Err: err}
	case !bytes.HasPrefix(first.Data, wanted.Data):
		return nil, jsonrpc.InvalidParams("the idempotency key was used with other arguments")
	case len(first.Data) == len(wanted.Data):
		return nil, &runtime.EndError{Kind: runtime.KindConflict, Message: "a call with this idempotency key is running"}
	}
	o, err := rawjson.ParseObject(first.Data[len(wanted.Data):])
	if err == nil && (c.Task == "" || first.Label != c.Task) { // else the task was killed when it had its own answer
		meta.Set(&o, "dev.sallyport/repeated", json.RawMessage("true"))
	}
	return o, err
}
