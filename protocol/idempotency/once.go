// Package idempotency runs a call with an idempotency key at most once: the first one's answer is that of all.
//
//	Do ──▶ the key is free ──▶ run ──▶ the answer is kept, for a day
//	  └──▶ it is in use: another runs, ran or waits for answers ──▶ its answer, its questions, or a refusal
//
// A key belongs to one principal, one tool and one set of arguments. What a call is about to change is noted with its key
// before it happens (Claim.Intends): a call that failed frees its key if it had changed nothing, and one whose process was
// killed then counts as free. Else the key stays, and who comes with it again is told what was begun. A call that asks its
// client keeps the key with its questions, and the request that brings the answers goes on with it. A call that is a task
// holds its key as long as the task goes on, in whichever process.
//
// The record of a key is in a store, so that processes which share it agree.
//
// This package is internal to Sallyport and may change.
package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/meta"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// keptFor is how long the answer of a call is kept.
	keptFor = 24 * time.Hour
	// runsFor is how long the record of a call that runs is there: longer than any call.
	runsFor = 7 * 24 * time.Hour
)

// Keeper keeps keys and answers.
type Keeper struct {
	Store *store.Store
	// Owner names this process, as the store's Hold and Gone do.
	Owner string
	// Over reports whether a task of a principal is over, and whether there is one.
	Over func(ctx context.Context, principal, task string) (over, known bool)
}

// Call is a call with an idempotency key.
type Call struct {
	Principal string
	Tool      string
	Key       string
	Arguments json.RawMessage
	// ID is the call's, the same in each round of its questions.
	ID string
	// Task is the task that it is a run of, and Ends when that ends at the latest; "" if it is none.
	Task string
	Ends time.Time
	// Asked is the result that asks the client, and until when it may answer, of a call that ended with questions; nil if
	// the client of this one does not know such results.
	Asked func() (result jsonraw.Object, until time.Time, err error)
	// Begun hears of the claim that the call has on its key while it runs.
	Begun func(*Claim)
	// Explain says in one sentence why a call failed.
	Explain func(error) string
	// Log hears of what cannot be kept.
	Log *slog.Logger
}

// phase is how far the call of a key is.
type phase string

const (
	runs     phase = "runs"
	asks     phase = "asks"     // it waits for its client's answers
	answered phase = "answered" // it has a result
	failed   phase = "failed"   // after it had begun to change something
)

// state is what is kept of a call under its key. The label of its record is the task that it is a run of.
type state struct {
	Sum     []byte          `json:"sum"` // of the arguments
	Phase   phase           `json:"phase"`
	Owner   string          `json:"owner,omitempty"` // the process that runs it
	Call    string          `json:"call,omitempty"`
	Intents []string        `json:"intents,omitempty"` // what it has begun to change
	Until   time.Time       `json:"until,omitzero"`    // when nobody can answer its questions any more
	Said    json.RawMessage `json:"said,omitempty"`    // its result, or that which asks
	Why     string          `json:"why,omitempty"`     // it failed
}

func (c *Call) id() string {
	sum := sha256.Sum256([]byte(c.Principal + "\x00" + c.Tool + "\x00" + c.Key))
	return hex.EncodeToString(sum[:])
}

// sum is the same for arguments that only their spelling tells apart.
func (c *Call) sum() []byte {
	text := []byte(c.Arguments)
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) == nil {
		text, _ = json.Marshal(v) // which was JSON, and has its keys sorted now
	}
	sum := sha256.Sum256(text)
	return sum[:]
}

// fresh is the record of a call that begins.
func (k *Keeper) fresh(c *Call) (store.Record, state) {
	s := state{Sum: c.sum(), Phase: runs, Owner: k.Owner, Call: c.ID}
	r := store.Record{ID: c.id(), Principal: c.Principal, Label: c.Task, Expires: time.Now().Add(runsFor)}
	if c.Task != "" {
		r.Expires = c.Ends
	}
	r.Data = s.encode()
	return r, s
}

func (s *state) encode() []byte {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil // texts, times and JSON that was checked
	}
	return raw
}

// Do runs a call, or gives the answer of the one that had its key before.
func (k *Keeper) Do(ctx context.Context, c Call, run func() (jsonraw.Object, error)) (jsonraw.Object, error) {
	claim, o, err := k.claim(ctx, &c)
	if claim == nil {
		return o, err
	}
	if c.Begun != nil {
		c.Begun(claim)
		defer c.Begun(nil)
	}
	over := false
	defer func() {
		if !over { // a panic, which is no answer
			claim.end(ctx, &c, nil, errors.New("the host failed"))
		}
	}()
	o, err = run()
	over = true
	claim.end(ctx, &c, o, err)
	return o, err
}

// claim takes the key of a call. Without a claim the call is answered as it says.
func (k *Keeper) claim(ctx context.Context, c *Call) (*Claim, jsonraw.Object, error) {
	wanted, s := k.fresh(c)
	if err := k.Store.Hold(k.Owner); err != nil {
		return nil, nil, cannotKeep(err)
	}
	record, err := k.Store.Add(ctx, store.Reply, wanted)
	if errors.Is(err, store.ErrExists) {
		return k.taken(ctx, c, wanted)
	}
	if err != nil {
		return nil, nil, cannotKeep(err)
	}
	return &Claim{store: k.Store, record: record, state: s}, nil, nil
}

func cannotKeep(err error) error {
	end := &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the idempotency key cannot be kept", Err: err}
	if errors.Is(err, store.ErrFull) {
		end.Kind, end.Message = runtime.KindLimit, end.Message+": "+err.Error()
	}
	return end
}

// taken is for a key that is in use: the call goes on with it, or is answered.
func (k *Keeper) taken(ctx context.Context, c *Call, wanted store.Record) (*Claim, jsonraw.Object, error) {
	first, s, err := k.read(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	if !k.free(ctx, c, &first, &s) {
		o, err := k.repeated(ctx, c, &s, &first)
		return nil, o, err
	}
	s = state{Sum: s.Sum, Phase: runs, Owner: k.Owner, Call: c.ID, Intents: s.Intents}
	wanted.Version, wanted.Data = first.Version, s.encode()
	record, err := k.Store.Replace(ctx, store.Reply, wanted)
	if errors.Is(err, store.ErrConflict) { // somebody was faster
		return nil, nil, running()
	}
	if err != nil {
		return nil, nil, cannotKeep(err)
	}
	return &Claim{store: k.Store, record: record, state: s}, nil, nil
}

// read returns the record of a key that is in use for the same arguments.
func (k *Keeper) read(ctx context.Context, c *Call) (r store.Record, s state, err error) {
	r, err = k.Store.Get(ctx, store.Reply, c.id())
	if err == nil {
		err = json.Unmarshal(r.Data, &s)
	}
	switch {
	case err != nil:
		err = &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the first call with this idempotency key has just failed", Err: err}
	case !bytes.Equal(s.Sum, c.sum()):
		err = jsonrpc.InvalidParams("the idempotency key was used with other arguments")
	}
	return r, s, err
}

// free reports whether a call may go on with a key: it is the call that asked, or a run of the task that has it, or
// nobody runs who has begun to change anything.
func (k *Keeper) free(ctx context.Context, c *Call, r *store.Record, s *state) bool {
	untouched := len(s.Intents) == 0
	switch {
	case s.Phase == answered || s.Phase == failed:
		return false
	case r.Label != "" && r.Label == c.Task:
		return true
	case r.Label != "":
		return untouched && k.stopped(ctx, c, s, r)
	case s.Phase == asks:
		return s.Call == c.ID || untouched && time.Now().After(s.Until)
	}
	return untouched && k.Store.Gone(s.Owner)
}

func running() error {
	return &runtime.EndError{Kind: runtime.KindConflict, Message: "a call with this idempotency key is running"}
}

// repeated is the answer of the first call with a key.
func (k *Keeper) repeated(ctx context.Context, c *Call, s *state, r *store.Record) (jsonraw.Object, error) {
	switch {
	case s.Phase == failed:
		return nil, s.spent("failed: " + s.Why)
	case s.Phase == asks && time.Now().After(s.Until):
		return nil, s.spent("waited for answers that never came")
	case s.Phase == asks && c.Asked == nil:
		return nil, &runtime.EndError{Kind: runtime.KindConflict, Message: "a call with this idempotency key waits for its client's answers"}
	case s.Phase == asks:
		return nil, &AsksError{Result: s.Said}
	case s.Phase == runs && k.stopped(ctx, c, s, r):
		return nil, s.spent("was interrupted, and its outcome is not known")
	case s.Phase == runs:
		return nil, running()
	}
	o, err := jsonraw.ParseObject(s.Said)
	if err == nil && (c.Task == "" || r.Label != c.Task) { // else the task was killed when it had its own answer
		meta.Set(&o, "dev.sallyport/repeated", json.RawMessage("true"))
	}
	return o, err
}

// AsksError is the end of a call whose key is that of one which waits for answers. Result asks for them.
type AsksError struct{ Result json.RawMessage }

// Error says so.
func (e *AsksError) Error() string { return "a call with this idempotency key waits for answers" }

// stopped reports whether a call was ended without an answer, and not by itself.
func (k *Keeper) stopped(ctx context.Context, c *Call, s *state, r *store.Record) bool {
	if r.Label != "" {
		if over, known := k.Over(ctx, c.Principal, r.Label); known {
			return over
		} // else it is being begun, if its process lives
	}
	return k.Store.Gone(s.Owner)
}

// spent is the refusal of a key whose call changed something and has no answer.
func (s *state) spent(how string) error {
	return &runtime.EndError{Kind: runtime.KindInvalid, Message: fmt.Sprintf(
		"a call with this idempotency key %s; it had begun this, which is not done again: %s; a new call needs a new key", how, strings.Join(s.Intents, ", "))}
}
