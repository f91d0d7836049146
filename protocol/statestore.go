package protocol

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// storeTime is how long the store may take: it is a file of this machine.
const storeTime = 5 * time.Second

// roomForState is how large the state of this request may be, in bytes: what a client is given, or with a
// store what is kept here.
func (r *request) roomForState() int {
	if r.server.opts.Store == nil || !durable(r.conn.opts.Principal) {
		return MaxState
	}
	return journal.MaxSize
}

// spend notes in the store that a state was used, so that no other process with the same store uses it too.
func (r *request) spend(s *state) error {
	kept := r.server.opts.Store
	if kept == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	var by []byte
	if r.task != nil {
		by = []byte(r.task.ID)
	}
	_, err := kept.Add(ctx, store.Spent, store.Record{ID: s.ID, Principal: s.Principal, Data: by, Expires: time.Unix(s.Expires, 0)})
	if errors.Is(err, store.ErrExists) && by != nil { // by this task, before its process went
		if spent, err := kept.Get(ctx, store.Spent, s.ID); err == nil && bytes.Equal(spent.Data, by) {
			return nil
		}
	}
	switch {
	case errors.Is(err, store.ErrExists):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: errUsed.Error()}
	case err != nil:
		return &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the use of requestState cannot be noted", Err: err}
	}
	return nil
}

// unspend takes it back, for a run that left no trace.
func (r *request) unspend(s *state) {
	if r.server.opts.Store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	if err := r.server.opts.Store.Remove(ctx, store.Spent, s.ID); err != nil {
		r.server.log.Warn("a requestState cannot be freed", "call", r.call, "error", err)
	}
}

// putAway keeps a journal that is too large for a client in the store, sealed, and its name in the state.
func (r *request) putAway(s *state) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	s.Kept = rand.Text()
	_, err := r.server.opts.Store.Add(ctx, store.Journal, store.Record{
		ID: s.Kept, Principal: s.Principal, Data: []byte(r.server.keys.Seal(s.Journal)), Expires: time.Unix(s.Expires, 0)})
	if err != nil {
		return &runtime.EndError{Kind: runtime.KindLimit, Message: "what the call did before it asked cannot be kept", Err: err}
	}
	s.Journal = nil
	return nil
}

// fetchJournal reads a journal that was put away.
func (r *request) fetchJournal(s *state) error {
	if s.Kept == "" {
		return nil
	}
	if r.server.opts.Store == nil {
		return errElsewhere
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	record, err := r.server.opts.Store.Get(ctx, store.Journal, s.Kept)
	if err != nil {
		return errElsewhere
	}
	s.Journal, err = r.server.keys.Open(string(record.Data))
	return err
}
