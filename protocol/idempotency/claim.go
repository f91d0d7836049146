package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/result"
)

const (
	// storeTime is the time limit for the local store.
	storeTime = 5 * time.Second
	// maxIntents is the maximum number of intents recorded per call.
	maxIntents = 64
)

// Claim is the ownership of a key by a running call.
type Claim struct {
	store *store.Store

	owner string // the process

	mu     sync.Mutex
	record store.Record
	state  state
}

// Intends records an intended effect. It is on disk when Intends returns.
func (c *Claim) Intends(what string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch n := len(c.state.Intents); {
	case n > maxIntents:
		return nil
	case n == maxIntents:
		what = "more"
	}
	c.state.Intents = append(c.state.Intents, what)
	return c.write()
}

// Recants removes an intent without effect. The record is written with the next change.
func (c *Claim) Recants(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, intent := range slices.Backward(c.state.Intents) {
		if intent == what {
			c.state.Intents = slices.Delete(c.state.Intents, i, i+1)
			return
		}
	}
}

// write replaces the record. c.mu must be held.
func (c *Claim) write() error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	c.record.Data = c.state.encode()
	record, err := c.store.Replace(ctx, store.Reply, c.record)
	if errors.Is(err, store.ErrConflict) && c.still(ctx) {
		record, err = c.store.Replace(ctx, store.Reply, c.record)
	}
	if err != nil {
		return fmt.Errorf("the record of the idempotency key: %w", err)
	}
	c.record = record
	return nil
}

// still reports whether the record is of this call yet, and takes its version: a write whose connection was lost may have
// changed it. c.mu must be held.
func (c *Claim) still(ctx context.Context) bool {
	r, err := c.store.Get(ctx, store.Reply, c.record.ID)
	var s state
	if err != nil || json.Unmarshal(r.Data, &s) != nil || s.Owner != c.owner || s.Call != c.state.Call {
		return false
	}
	c.record.Version = r.Version
	return true
}

// end stores the outcome of the call, or frees its key if the call failed without intents.
func (c *Claim) end(ctx context.Context, call *Call, o jsonraw.Object, err error) {
	suspended := errors.Is(err, hostfuncs.ErrSuspended)
	if call.Task != "" && (suspended || ctx.Err() != nil) {
		return // the task continues or is over, which the next call with the key determines
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Owner = ""
	if suspended {
		err = c.ask(call)
	}
	keep := c.write
	switch {
	case suspended && err == nil:
	case (err != nil || result.Failed(o)) && len(c.state.Intents) == 0:
		keep = c.remove
	default:
		c.answer(call, o, err)
	}
	c.persist(call, keep)
}

// remove frees the key, unless it is no longer of this call: a process that was paused may have lost it. c.mu must be held.
func (c *Claim) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	err := c.store.RemoveVersion(ctx, store.Reply, c.record.ID, c.record.Version)
	if errors.Is(err, store.ErrConflict) && c.still(ctx) {
		err = c.store.RemoveVersion(ctx, store.Reply, c.record.ID, c.record.Version)
	}
	return err
}

// final reports whether a write fails again when it is repeated.
func final(err error) bool {
	for _, f := range []error{store.ErrConflict, store.ErrFenced, store.ErrFull, store.ErrClosed} {
		if errors.Is(err, f) {
			return true
		}
	}
	return false
}

// persistPause is the pause before the outcome of a call is stored again.
const persistPause = time.Second

// persist stores the outcome of a call. While the database cannot be reached, it goes on in Call.Later, and the key counts
// as running. c.mu must be held.
func (c *Claim) persist(call *Call, keep func() error) {
	err := keep()
	if err == nil {
		return
	}
	call.Log.Warn("the outcome of a call cannot be stored for its idempotency key", "error", err)
	if call.Later == nil {
		return
	}
	call.Later(func(ctx context.Context) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for err != nil && !final(err) {
			select {
			case <-time.After(persistPause):
			case <-ctx.Done():
				return // the next call with the key is told so
			}
			err = keep()
		}
	})
}

// ask sets the state of a call that waits for answers.
func (c *Claim) ask(call *Call) error {
	if call.Asked == nil {
		return errors.New("its client cannot be asked so")
	}
	asked, until, err := call.Asked()
	if err != nil {
		return err
	}
	c.state.Phase, c.state.Said, c.state.Until = asks, asked.Append(nil), until
	c.record.Expires = later(until, time.Now().Add(keptFor))
	return nil
}

// answer sets the state of a finished call.
func (c *Claim) answer(call *Call, o jsonraw.Object, err error) {
	c.record.Expires = time.Now().Add(keptFor)
	if err == nil {
		c.state.Phase, c.state.Said = answered, o.Append(nil)
		return
	}
	c.state.Phase, c.state.Why = failed, err.Error()
	if call.Explain != nil {
		c.state.Why = call.Explain(err)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
