// Package idempotency runs a call with an idempotency key at most once and returns the first answer to all
// repetitions.
//
//	Do ──▶ key free ──▶ run ──▶ answer stored for a day
//	  └──▶ key in use by a running, finished or waiting call ──▶ its answer, its questions, or an error
//
// A key is scoped to one principal, one tool and one set of arguments. Intended effects are recorded with the key
// before they happen (Claim.Intends). A call that fails without intents frees its key, as does a killed process for
// its calls without intents. Otherwise the key stays in use, and a repetition is refused with the list of intents. A
// call that asks its client keeps the key with its questions, and the request with the answers continues it. A task
// holds its key until its end, in any process.
//
// Records are in a store, so that all processes sharing it agree.
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
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// keptFor is the lifetime of a stored answer.
	keptFor = 24 * time.Hour
	// runsFor is the lifetime of the record of a running call, longer than any call.
	runsFor = 7 * 24 * time.Hour
)

// Keeper stores idempotency keys and answers.
type Keeper struct {
	Store *store.Store
	// Owner identifies this process for the store's Hold and Gone.
	Owner string
	// Over reports whether a principal's task is finished, and whether it exists.
	Over func(ctx context.Context, principal, task string) (over, known bool)
}

// Call is a call with an idempotency key.
type Call struct {
	Principal string
	Tool      string
	Key       string
	Arguments json.RawMessage
	// ID is the call id, the same in each round of questions.
	ID string
	// Task is the ID of the task run by this call, or "", and Ends its latest end.
	Task string
	Ends time.Time
	// Asked returns the input_required result of a call that ended with questions, and its expiry. It is nil if the
	// client does not support such results.
	Asked func() (result jsonraw.Object, until time.Time, err error)
	// Begun receives the claim on the key while the call runs, and nil at its end.
	Begun func(*Claim)
	// Explain returns the reason of a failed call in one sentence.
	Explain func(error) string
	// Later runs a function beside the call, until its context ends. It may be nil.
	Later func(func(context.Context))
	// Log logs storage failures.
	Log *slog.Logger
}

// phase is the progress of the call with a key.
type phase string

const (
	runs     phase = "runs"
	asks     phase = "asks"     // waits for the client's answers
	answered phase = "answered" // has a result
	failed   phase = "failed"   // failed after its first intent
)

// state is the record of a key. The label of the store record is the task ID.
type state struct {
	Sum     []byte          `json:"sum"` // of the arguments
	Phase   phase           `json:"phase"`
	Owner   string          `json:"owner,omitempty"` // process that runs it
	Call    string          `json:"call,omitempty"`
	Intents []string        `json:"intents,omitempty"` // intended effects
	Until   time.Time       `json:"until,omitzero"`    // expiry of its questions
	Said    json.RawMessage `json:"said,omitempty"`    // result, or input_required result
	Why     string          `json:"why,omitempty"`     // reason of the failure
}

func (c *Call) id() string {
	sum := sha256.Sum256([]byte(c.Principal + "\x00" + c.Tool + "\x00" + c.Key))
	return hex.EncodeToString(sum[:])
}

// sum returns a digest of the arguments, independent of their formatting and key order.
func (c *Call) sum() []byte {
	text := []byte(c.Arguments)
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) == nil {
		text, _ = json.Marshal(v) // keys are sorted now
	}
	sum := sha256.Sum256(text)
	return sum[:]
}

// fresh returns the record of a new call.
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
		return nil // cannot fail: strings, times and valid JSON
	}
	return raw
}

// Do runs a call, or returns the stored answer of the first call with its key.
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
		if !over { // panic
			claim.end(ctx, &c, nil, errors.New("the host failed"))
		}
	}()
	o, err = run()
	over = true
	claim.end(ctx, &c, o, err)
	return o, err
}

// claim takes the key of a call. If it returns no claim, its result or error is the answer of the call.
func (k *Keeper) claim(ctx context.Context, c *Call) (*Claim, jsonraw.Object, error) {
	claim, err := k.first(ctx, c)
	if errors.Is(err, store.ErrExists) {
		return k.taken(ctx, c)
	}
	return claim, nil, err
}

// first takes a key that no call has used. The error is store.ErrExists if one has.
func (k *Keeper) first(ctx context.Context, c *Call) (*Claim, error) {
	wanted, s := k.fresh(c)
	if err := k.Store.Hold(k.Owner); err != nil {
		return nil, cannotKeep(err)
	}
	record, err := k.Store.Add(ctx, store.Reply, wanted)
	if errors.Is(err, store.ErrExists) {
		return nil, err
	}
	if err != nil {
		return nil, cannotKeep(err)
	}
	return &Claim{store: k.Store, owner: k.Owner, record: record, state: s}, nil
}

func cannotKeep(err error) error {
	end := &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the idempotency key cannot be kept", Err: err}
	if errors.Is(err, store.ErrFull) {
		end.Kind, end.Message = runtime.KindLimit, end.Message+": "+err.Error()
	}
	return end
}

// taken handles a key in use: it continues with the key or returns the stored answer.
func (k *Keeper) taken(ctx context.Context, c *Call) (*Claim, jsonraw.Object, error) {
	first, s, err := k.read(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	if !k.free(ctx, c, &first, &s) {
		o, err := k.repeated(ctx, c, &s, &first)
		return nil, o, err
	}
	wanted, _ := k.fresh(c)
	s = state{Sum: s.Sum, Phase: runs, Owner: k.Owner, Call: c.ID, Intents: s.Intents}
	wanted.Version, wanted.Data = first.Version, s.encode()
	record, err := k.Store.Replace(ctx, store.Reply, wanted)
	if errors.Is(err, store.ErrConflict) { // another call was first
		return nil, nil, running()
	}
	if err != nil {
		return nil, nil, cannotKeep(err)
	}
	return &Claim{store: k.Store, owner: k.Owner, record: record, state: s}, nil, nil
}

// read returns the record of a key that is in use for the same arguments.
func (k *Keeper) read(ctx context.Context, c *Call) (r store.Record, s state, err error) {
	r, err = k.Store.Get(ctx, store.Reply, c.id())
	if err == nil {
		err = json.Unmarshal(r.Data, &s)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the first call with this idempotency key has just failed", Err: err}
	case err != nil:
		err = &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the idempotency key cannot be read", Err: err}
	case !bytes.Equal(s.Sum, c.sum()):
		err = jsonrpc.InvalidParams("the idempotency key was used with other arguments")
	}
	return r, s, err
}

// free reports whether a call may take over a key: it continues the call that asked, or runs the task with the key,
// or the previous owner stopped without intents.
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

// repeated returns the stored answer of the first call with a key.
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
	if err == nil && (c.Task == "" || r.Label != c.Task) { // otherwise the task was killed after its own answer was stored
		untrusted.SetMeta(&o, "dev.sallyport/repeated", json.RawMessage("true"))
	}
	return o, err
}

// AsksError ends a call because the call with its key waits for answers. Result is its input_required result.
type AsksError struct{ Result json.RawMessage }

// Error returns a fixed message.
func (e *AsksError) Error() string { return "a call with this idempotency key waits for answers" }

// openTime is longer than the opening of a task whose commit was cut off can last.
const openTime = 3 * time.Minute

// stopped reports whether a call was interrupted without an answer.
func (k *Keeper) stopped(ctx context.Context, c *Call, s *state, r *store.Record) bool {
	if r.Label != "" {
		if over, known := k.Over(ctx, c.Principal, r.Label); known {
			return over
		} // unknown: it is being opened if its process lives
		if time.Since(r.Created) > openTime {
			return true
		}
	}
	return k.Store.Gone(s.Owner)
}

// spent returns the error for a key of a call with intents and without answer.
func (s *state) spent(how string) error {
	return &runtime.EndError{Kind: runtime.KindInvalid, Message: fmt.Sprintf(
		"a call with this idempotency key %s; it had begun this, which is not done again: %s; a new call needs a new key", how, strings.Join(s.Intents, ", "))}
}
