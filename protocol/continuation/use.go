package continuation

import (
	"context"
	"errors"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Use is the use of one state, until it is settled or released.
type Use struct {
	keeper *Keeper
	state  string
	claim  *claim
	again  bool // by a later run of the task
}

// Use takes a state for one run, exclusively among all processes with the same store. by is the ID of a task, which
// may take it again after a restart, or "". The error is a *UsedError if the answer of the first run is stored.
func (k *Keeper) Use(s *State, by string) (*Use, error) {
	c, err := k.spent.claim(s.ID, s.Principal, s.expires())
	if err != nil {
		return nil, err
	}
	again, err := k.spend(s, by)
	if err != nil {
		c.release()
		return nil, err
	}
	return &Use{keeper: k, state: s.ID, claim: c, again: again}, nil
}

// Settle ends the use and stores the answer, unless r is nil.
func (u *Use) Settle(r *Reply) { u.claim.settle(r) }

// Release makes the state usable again, after a run without effects. A later run of a task knows nothing of the effects of
// the earlier ones, and the state remains used.
func (u *Use) Release() error {
	u.claim.release()
	if u.keeper.store == nil || u.again {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	return u.keeper.store.Remove(ctx, store.Spent, u.state)
}

// spend records the use in the store for the other processes. again reports that this task took it before a restart.
func (k *Keeper) spend(s *State, by string) (again bool, err error) {
	if k.store == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	record := store.Record{ID: s.ID, Principal: s.Principal, Expires: s.expires()}
	if by != "" {
		record.Data = []byte(by)
	}
	_, err = k.store.Add(ctx, store.Spent, record)
	if errors.Is(err, store.ErrExists) && by != "" {
		if spent, err := k.store.Get(ctx, store.Spent, s.ID); err == nil && string(spent.Data) == by {
			return true, nil
		}
	}
	switch {
	case errors.Is(err, store.ErrExists):
		return false, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: ErrUsed.Error()}
	case err != nil:
		return false, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the use of requestState cannot be noted", Err: err}
	}
	return false, nil
}
