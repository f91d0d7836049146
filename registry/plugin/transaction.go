package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// transaction is a call from the opening of its gate to Commit or Abort. It ends once and then gives back what the
// call occupied, in reverse order.
type transaction struct {
	plugin, id string
	gate       callGate
	answered   bool
	answer     json.RawMessage
	limit      output // of the answer; zero is no limit

	ctx    context.Context // with the client's time limit; nil before the call runs
	cancel context.CancelFunc
	admit  func()     // returns the admission; nil for code
	calls  *callCount // to release; nil until the generation hands the call out
	over   bool
}

var _ catalog.Run = (*transaction)(nil)

// callGate is the gate of one call.
type callGate interface {
	// open returns the gate.
	open() *hostfuncs.Gate
	// used returns the gate, or nil if the call never used it.
	used() *hostfuncs.Gate
	close()
}

// moduleGate is the gate of a module's call.
type moduleGate struct{ *hostfuncs.Gate }

func (g moduleGate) open() *hostfuncs.Gate { return g.Gate }
func (g moduleGate) used() *hostfuncs.Gate { return g.Gate }
func (g moduleGate) close()                { g.Close() }

// errOver is the error for the commit of a call that has ended.
var errOver = errors.New("the call has ended")

// Answer returns the plugin's result.
func (t *transaction) Answer() json.RawMessage { return t.answer }

// Commit commits the writes of the call unless its tool failed, and ends it.
func (t *transaction) Commit(v catalog.Verdict) error {
	if t.over {
		return errOver
	}
	if t.limit.bytes > 0 && len(t.answer) > t.limit.bytes {
		return t.Abort(&runtime.EndError{Kind: runtime.KindLimit,
			Message: fmt.Sprintf("the answer has %d bytes, and %s is %d", len(t.answer), t.limit.setting, t.limit.bytes)})
	}
	defer t.end()
	if gate := t.gate.used(); gate != nil {
		if err := land(t.ctx, gate, v); err != nil {
			return newFailure(t.plugin, t.id, gate, err)
		}
	}
	return nil
}

// land commits the writes of a call and records its outcome.
func land(ctx context.Context, gate *hostfuncs.Gate, v catalog.Verdict) error {
	gate.Cleaned(v.Removed, v.Hidden)
	if v.Failed {
		gate.Ended(receipt.Tool)
		return nil
	}
	if err := gate.Land(ctx); err != nil {
		return err
	}
	gate.Ended(receipt.OK)
	return nil
}

// Abort ends the call without its writes, and returns the reason as a failure of the plugin.
func (t *transaction) Abort(reason error) error {
	if t.over {
		return reason
	}
	defer t.end()
	if reason == nil {
		return nil
	}
	return newFailure(t.plugin, t.id, t.gate.open(), reason)
}

// abortUnanswered ends a call whose plugin panicked or failed. It is deferred.
func (t *transaction) abortUnanswered() {
	if !t.answered {
		_ = t.Abort(nil)
	}
}

// end closes the gate and gives back what the call occupied.
func (t *transaction) end() {
	t.over = true
	if t.calls != nil {
		defer t.calls.release()
	}
	if t.admit != nil {
		defer t.admit()
	}
	defer t.gate.close()
	if t.cancel != nil {
		t.cancel()
	}
}
