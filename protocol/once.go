package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// onceTime is how long the answer of a call with an idempotency key is kept.
	onceTime = 24 * time.Hour
	// onceRunning is how long a call may run before its key counts as free again: its process was killed.
	onceRunning = 15 * time.Minute
)

// once runs a call with an idempotency key at most once: the first one's answer is that of all. A call that
// failed may be made again.
func (r *request) once(ctx context.Context, tool, key string, run func() (rawjson.Object, error)) (rawjson.Object, error) {
	kept := r.server.opts.Store
	arguments := sha256.Sum256(rawjson.Get(r.params, "arguments"))
	sum := sha256.Sum256([]byte(r.conn.opts.Principal + "\x00" + tool + "\x00" + key))
	record := store.Record{
		ID: hex.EncodeToString(sum[:]), Principal: r.conn.opts.Principal, Data: arguments[:], Expires: time.Now().Add(onceRunning),
	}
	record, err := kept.Add(ctx, store.Reply, record)
	switch {
	case errors.Is(err, store.ErrExists):
		return r.repeated(ctx, record.ID, arguments[:])
	case err != nil:
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the idempotency key cannot be kept", Err: err}
	}
	after := context.WithoutCancel(ctx)
	o, err := run()
	if err != nil || string(o.Get("isError")) == "true" {
		if err := kept.Remove(after, store.Reply, record.ID); err != nil {
			r.server.log.Warn("an idempotency key cannot be freed", "call", r.call, "error", err)
		}
		return o, err
	}
	record.Data, record.Expires = o.Append(bytes.Clone(arguments[:])), time.Now().Add(onceTime)
	if _, err := kept.Replace(after, store.Reply, record); err != nil {
		r.server.log.Warn("an answer cannot be kept for its idempotency key", "call", r.call, "error", err)
	}
	return o, nil
}

// repeated is the answer of the first call with a key.
func (r *request) repeated(ctx context.Context, id string, arguments []byte) (rawjson.Object, error) {
	first, err := r.server.opts.Store.Get(ctx, store.Reply, id)
	switch {
	case err != nil:
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the first call with this idempotency key has just failed", Err: err}
	case !bytes.HasPrefix(first.Data, arguments):
		return nil, invalidParams("the idempotency key was used with other arguments")
	case len(first.Data) == len(arguments):
		return nil, &runtime.EndError{Kind: runtime.KindConflict, Message: "a call with this idempotency key is running"}
	}
	o, err := rawjson.ParseObject(json.RawMessage(first.Data[len(arguments):]))
	if err != nil {
		return nil, err
	}
	setMeta(&o, "dev.sallyport/repeated", json.RawMessage("true"))
	return o, nil
}
