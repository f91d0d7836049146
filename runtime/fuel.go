package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-mcp/sallyport/internal/threads"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

const (
	// slice is the fuel granted at once, in units: a guest reaches refill at least every half a millisecond or so, and
	// far more often if its compiler makes large functions of which a part runs, as Go does. The cost is less than one
	// per cent.
	slice = 1_000_000
	// long is the time after which a call that computes is noted as one that keeps its thread busy.
	long = 5 * time.Millisecond
	// maxDepth bounds recursion, in units of about 160 bytes of the engine's stack.
	maxDepth = 1 << 16
	// lookEvery is the number of Quick host calls between two checks of the deadline, and lookEveryCalls that of other
	// host calls: a slice has room for thousands of them, each of which may take a while.
	lookEvery      = 256
	lookEveryCalls = 16
)

// tank is the fuel of an instance. A unit is about one instruction, and the count is deterministic.
type tank struct {
	fuel, depth api.MutableGlobal
	granted     int64 // in this call, so far
	budget      int64 // of this call; 0 means unlimited
}

// fill resets fuel and depth for a new call.
func (t *tank) fill(budget uint64) {
	t.granted, t.budget = slice, int64(min(budget, 1<<62))
	if t.budget > 0 {
		t.granted = min(t.granted, t.budget)
	}
	t.fuel.Set(uint64(t.granted))
	t.depth.Set(maxDepth)
}

// allow limits the fuel that is left in this call.
func (t *tank) allow(fuel uint64) {
	most := t.spent() + int64(min(fuel, 1<<61))
	if t.budget == 0 || most < t.budget {
		t.budget = most
	}
	t.drain()
}

// spent returns the fuel consumed in this call.
func (t *tank) spent() int64 { return t.granted - int64(t.fuel.Get()) }

// empty reports whether the call has used up its budget.
func (t *tank) empty() bool { return t.budget > 0 && t.spent() > t.budget }

// refill returns the new value of the fuel counter, or the error that ends the call.
func (t *tank) refill() (int64, error) {
	if int64(t.depth.Get()) < 0 {
		return 0, &EndError{Kind: KindTrap, Message: stackExhausted, Err: errors.New(stackOverflow)}
	}
	next := int64(slice)
	if t.budget > 0 {
		if next = min(next, t.budget-t.spent()); next < 0 {
			return 0, &EndError{Kind: KindLimit, Message: fmt.Sprintf("the call used up its %d units of fuel", t.budget)}
		}
	}
	t.granted += next - int64(t.fuel.Get())
	return next, nil
}

// drain removes the rest of the slice, so that the guest reaches refill as soon as possible. The fuel spent is
// unchanged.
func (t *tank) drain() {
	if left := int64(t.fuel.Get()); left >= 0 {
		t.granted -= left + 1
		t.fuel.Set(^uint64(0)) // -1
	}
}

// registerRefill exports the function that rewritten code calls when its fuel is used up.
func registerRefill(ctx context.Context, r wazero.Runtime) error {
	_, err := r.NewHostModuleBuilder(rewrite.Module).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(refill), nil, []api.ValueType{api.ValueTypeI64}).
		Export(rewrite.RefillImport).Instantiate(ctx)
	return err
}

// refill is the point where a running guest can be interrupted.
func refill(ctx context.Context, stack []uint64) {
	c := callOf(ctx)
	if c == nil || c.in == nil {
		Abort(errors.New("a guest runs outside of a call"))
	}
	if err := c.over(ctx); err != nil {
		Abort(err)
	}
	if c.isLong(time.Now()) {
		threads.Busy()
	}
	next, err := c.in.tank.refill()
	if err != nil {
		Abort(err)
	}
	stack[0] = uint64(next)
}

// isLong reports whether long has passed since the call began, or since it was true. A guest reaches refill each few
// microseconds, and all of them share what Busy notes.
func (c *callContext) isLong(now time.Time) bool {
	if now.Sub(c.noted) < long {
		return false
	}
	c.noted = now
	return true
}

// asked counts a host call by its weight. If the call is over, the guest reaches refill soon, regardless of the rest
// of its slice.
func (c *callContext) asked(ctx context.Context, weight int) {
	if c.hostCalls += weight; c.hostCalls < lookEvery {
		return
	}
	c.hostCalls = 0
	if c.in != nil && c.over(ctx) != nil {
		c.in.tank.drain()
	}
}

// over returns why the call, or the part of it that ctx belongs to, is over; nil while it runs.
func (c *callContext) over(ctx context.Context) error {
	if err := c.Err(); err != nil || ctx == context.Context(c) {
		return err
	}
	return ctx.Err()
}
