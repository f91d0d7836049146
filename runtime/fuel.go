package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

const (
	// slice is how many units of fuel a guest gets at once: it looks up at least every half a millisecond or so, and
	// far more often if its compiler makes large functions of which a part runs, as Go does, at a cost of less
	// than one per cent.
	slice = 1_000_000
	// maxDepth bounds recursion, in units of about 160 bytes of the engine's stack.
	maxDepth = 1 << 16
	// lookEvery is after how many host calls that are quick somebody looks whether the call is over, and lookEveryCalls
	// after how many of the others: a slice has room for thousands of them, each of which may take a while.
	lookEvery      = 256
	lookEveryCalls = 16
)

// tank is the fuel of an instance. A unit is about one instruction; what a call needs is the same each time
// that the same code does the same.
type tank struct {
	fuel, depth api.MutableGlobal
	granted     int64 // in this call, so far
	budget      int64 // of this call; 0 is no bound
}

// fill begins a call.
func (t *tank) fill(budget uint64) {
	t.granted, t.budget = slice, int64(min(budget, 1<<62))
	if t.budget > 0 {
		t.granted = min(t.granted, t.budget)
	}
	t.fuel.Set(uint64(t.granted))
	t.depth.Set(maxDepth)
}

// spent is how much fuel was used in this call.
func (t *tank) spent() int64 { return t.granted - int64(t.fuel.Get()) }

// refill returns what the counter is to be, or why the call ends.
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

// drain takes what is left of the slice, so that the guest looks up as soon as it can. What is spent stays as it is.
func (t *tank) drain() {
	if left := int64(t.fuel.Get()); left >= 0 {
		t.granted -= left + 1
		t.fuel.Set(^uint64(0)) // -1
	}
}

// registerRefill offers the function that the code of every guest calls when its fuel is used up.
func registerRefill(ctx context.Context, r wazero.Runtime) error {
	_, err := r.NewHostModuleBuilder(rewrite.Module).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(refill), nil, []api.ValueType{api.ValueTypeI64}).
		Export(rewrite.RefillImport).Instantiate(ctx)
	return err
}

// refill is where a guest that runs can be ended.
func refill(ctx context.Context, stack []uint64) {
	c := callOf(ctx)
	if c == nil || c.in == nil {
		Abort(errors.New("a guest runs outside of a call"))
	}
	if err := c.over(ctx); err != nil {
		Abort(err)
	}
	next, err := c.in.tank.refill()
	if err != nil {
		Abort(err)
	}
	stack[0] = uint64(next)
}

// asked counts a host call by its weight. A guest whose call is over then comes to refill soon, whatever slice it has
// left.
func (c *callContext) asked(ctx context.Context, weight int) {
	if c.hostCalls += weight; c.hostCalls < lookEvery {
		return
	}
	c.hostCalls = 0
	if c.in != nil && c.over(ctx) != nil {
		c.in.tank.drain()
	}
}

// over is why the call, or the part of it that ctx belongs to, is over; nil if it goes on.
func (c *callContext) over(ctx context.Context) error {
	if err := c.Err(); err != nil || ctx == context.Context(c) {
		return err
	}
	return ctx.Err()
}
