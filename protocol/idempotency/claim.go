package idempotency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/answer"
)

const (
	// storeTime is how long the store may take: it is a file of this machine.
	storeTime = 5 * time.Second
	// maxIntents bounds how many of a call's changes are named.
	maxIntents = 64
)

// Claim is the key of a call that runs.
type Claim struct {
	store *store.Store

	mu     sync.Mutex
	record store.Record
	state  state
}

// Intends notes what the call is about to change, on the disk when it returns.
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

// Recants takes back what came to nothing after all. It is written with what comes next.
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

// write replaces the record; c.mu is held.
func (c *Claim) write() error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	c.record.Data = c.state.encode()
	record, err := c.store.Replace(ctx, store.Reply, c.record)
	if err != nil {
		return fmt.Errorf("the record of the idempotency key: %w", err)
	}
	c.record = record
	return nil
}

// end keeps what came of the call, or frees its key.
func (c *Claim) end(ctx context.Context, call *Call, o jsonraw.Object, err error) {
	suspended := errors.Is(err, hostfuncs.ErrSuspended)
	if call.Task != "" && (suspended || ctx.Err() != nil) {
		return // the task goes on, or is over: the next call with the key finds out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Owner = ""
	if suspended {
		err = c.ask(call)
	}
	var failure error
	switch {
	case suspended && err == nil:
		failure = c.write()
	case (err != nil || answer.Failed(o)) && len(c.state.Intents) == 0:
		failure = c.store.Remove(context.WithoutCancel(ctx), store.Reply, c.record.ID)
	default:
		c.answer(call, o, err)
		failure = c.write()
	}
	if failure != nil {
		call.Log.Warn("what came of a call cannot be kept for its idempotency key", "error", failure)
	}
}

// ask makes the state that of a call that waits for answers.
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

// answer makes the state that of a call which is over.
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
