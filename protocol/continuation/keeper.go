package continuation

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// MaxState is the maximum size of a requestState, in bytes before encoding. Clients store it and return it with the
// whole request.
const MaxState = 32 << 10

// storeTime is the time limit for the local store.
const storeTime = 5 * time.Second

// Errors for an invalid requestState. The texts address client authors.
var (
	ErrTampered     = errors.New("requestState was not made by this server, or was changed")
	errExpired      = errors.New("requestState has expired: send the request without it")
	errOtherRequest = errors.New("requestState belongs to another request")
	ErrOtherBuild   = errors.New("requestState belongs to another version of the plugin or its grants: send the request without it")
	ErrElsewhere    = errors.New("requestState belongs to a call that another process keeps: send the request without it")
	ErrUsed         = errors.New("requestState was used already")
)

// Keeper seals and opens states. It is safe for concurrent use.
type Keeper struct {
	keys  *sealed.Keys
	store *store.Store
	spent spent
}

// NewKeeper returns a keeper. Keepers with equal keys and the same store continue each other's calls. s may be nil.
// now is the clock.
func NewKeeper(keys *sealed.Keys, s *store.Store, now func() time.Time) *Keeper {
	return &Keeper{keys: keys, store: s, spent: spent{now: now, stored: s != nil}}
}

// Room returns the maximum size of a state, in bytes: the client's limit, or for a durable principal the store's.
func (k *Keeper) Room(durable bool) int {
	if k.store == nil || !durable {
		return MaxState
	}
	return journal.MaxSize
}

// Seal returns the requestState of a call.
func (k *Keeper) Seal(s *State, durable bool) (string, error) {
	plain, err := s.encode()
	if err == nil && len(plain) > MaxState && k.Room(durable) > MaxState {
		if err = k.putAway(s); err == nil {
			plain, err = s.encode()
		}
	}
	if err != nil {
		return "", err
	}
	return k.keys.Seal(plain), nil
}

// Open opens the requestState of a request for the same purpose, presented at time at.
func (k *Keeper) Open(text string, p Purpose, at time.Time) (*State, error) {
	plain, err := k.keys.Open(text)
	if err != nil {
		return nil, ErrTampered
	}
	s, err := decode(plain)
	switch {
	case err != nil:
		return nil, err
	case !s.equal(&p):
		return nil, errOtherRequest
	case at.After(s.expires()):
		return nil, errExpired
	}
	return s, k.fetch(s)
}

// putAway moves a journal too large for a client to the store, sealed, and records its name in the state.
func (k *Keeper) putAway(s *State) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	s.Kept = rand.Text()
	_, err := k.store.Add(ctx, store.Journal, store.Record{
		ID: s.Kept, Principal: s.Principal, Data: []byte(k.keys.Seal(s.Journal)), Expires: s.expires()})
	if err != nil {
		return &runtime.EndError{Kind: runtime.KindLimit, Message: "the call's journal cannot be stored", Err: err}
	}
	s.Journal = nil
	return nil
}

// fetch reads a journal stored by putAway.
func (k *Keeper) fetch(s *State) error {
	if s.Kept == "" {
		return nil
	}
	if k.store == nil {
		return ErrElsewhere
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	record, err := k.store.Get(ctx, store.Journal, s.Kept)
	if err != nil {
		return ErrElsewhere
	}
	s.Journal, err = k.keys.Open(string(record.Data))
	return err
}
