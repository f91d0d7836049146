// Package enginetest is a conformance test for instances: it runs with any dialect, in every way to reset memories.
// The test of a dialect is one call of Run.
//
// The guest is an interpreter (machine) of opcodes that it gets from the host, and reports its observations, so that
// calls can be made of random opcodes. Results, memory, globals and fuel of a call in a reset instance must then equal
// those in a new one, regardless of earlier calls.
package enginetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// Subject is a dialect under test.
type Subject struct {
	Dialect runtime.Dialect
	Host    []runtime.HostFunc // the imports of its guests
	// Begin adds the imports of a guest to a module. finish, called after all functions are added, adds the handler,
	// which serves a request by calling work, a function () -> (), and then returns any result.
	Begin func(m *w.Module) (finish func(work uint32))
	// Request is a request that the guest serves.
	Request runtime.Request
}

const hostModule = "enginetest"

// call is one call of the machine with its outcome. It is the call's gate.
type call struct {
	orders  []int64
	reports []int64
	memory  [sha256.Size]byte // digest of the memory after the last order
	size    uint32
	fuel    uint64
	end     runtime.Kind // "" if the call returned a result
}

func (*call) Ask(context.Context, string, json.RawMessage, runtime.Streams) (json.RawMessage, error) {
	return nil, &runtime.AskError{Kind: runtime.KindUnsupported, Message: "nothing is here"}
}

// Used records the fuel.
func (c *call) Used(u runtime.Usage) { c.fuel = u.Fuel }

// String returns a form for comparison.
func (c *call) String() string {
	return fmt.Sprintf("ended %q, %d bytes of memory %x, fuel %d, reports %v", c.end, c.size, c.memory[:4], c.fuel, c.reports)
}

// hostFuncs returns the functions by which the machine fetches orders and reports values. Outside of a call there are
// no orders.
func hostFuncs() []runtime.HostFunc {
	return []runtime.HostFunc{
		{Module: hostModule, Name: "next", Results: []byte{runtime.I64}, Call: func(ctx context.Context, mem runtime.Memory, stack []uint64) {
			stack[0] = opEnd
			c, ok := runtime.GateFrom(ctx).(*call)
			if !ok {
				return
			}
			all, _ := mem.Read(0, mem.Size())
			if len(c.orders) == 0 {
				c.memory, c.size = sha256.Sum256(all), mem.Size()
				return
			}
			stack[0], c.orders = uint64(c.orders[0]), c.orders[1:]
		}},
		{Module: hostModule, Name: "report", Params: []byte{runtime.I64}, Call: func(ctx context.Context, _ runtime.Memory, stack []uint64) {
			if c, ok := runtime.GateFrom(ctx).(*call); ok {
				c.reports = append(c.reports, int64(stack[0]))
			}
		}},
	}
}

// limits allow the machine to grow by six pages.
var limits = runtime.Limits{Memory: 8 << 16, Deadline: 20 * time.Second}

// bench is an engine with a compiled machine.
type bench struct {
	*testing.T
	s      Subject
	module *runtime.Module
}

func newBench(t *testing.T, s Subject, r runtime.Restore, table bool) *bench {
	e, err := runtime.NewEngine(t.Context(), &runtime.EngineOptions{Host: slices.Concat(s.Host, hostFuncs()), Restore: r})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Compile(t.Context(), machine(s.Begin, table).Bytes())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(m.Close(), e.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return &bench{t, s, m}
}

func (b *bench) pool(state runtime.State, l runtime.Limits) *runtime.Pool {
	p := runtime.NewPool(b.module, b.s.Dialect, &runtime.PoolOptions{Limits: l, State: state})
	b.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return p
}

// tell makes a call with these orders.
func (b *bench) tell(p *runtime.Pool, session string, orders ...int64) *call {
	b.Helper()
	return b.tellWithin(limits.Deadline, p, session, orders...)
}

// tellWithin is tell with a time limit of the caller.
func (b *bench) tellWithin(limit time.Duration, p *runtime.Pool, session string, orders ...int64) *call {
	b.Helper()
	c := &call{orders: orders}
	req := b.s.Request
	req.Session = session
	ctx, cancel := context.WithTimeout(b.Context(), limit)
	defer cancel()
	_, err := p.Call(ctx, req, c)
	var end *runtime.EndError
	if errors.As(err, &end) {
		c.end = end.Kind
	} else if err != nil {
		b.Fatal(err)
	}
	return c
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	for _, r := range runtime.Restores() {
		t.Run(string(r), func(t *testing.T) {
			for name, test := range map[string]func(*bench){
				"nothing is left": nothingLeft, "as good as new": asGoodAsNew, "broken": broken, "states": states,
			} {
				t.Run(name, func(t *testing.T) { test(newBench(t, s, r, false)) })
			}
			t.Run("tables", func(t *testing.T) { tables(newBench(t, s, r, true)) })
		})
	}
}

// look reports all observable state.
func look() []int64 {
	return []int64{order(opSize, 0, 0), order(opGlobals, 0, 0), order(opLoad, 40, 0), order(opLoad, 44, 0),
		order(opLoad, 70_000, 0), order(opLoad, 131_068, 0), order(opIndirect, 0, 0), order(opIndirect, 0, 1)}
}

// secret writes to every kind of state.
func secret() []int64 {
	return []int64{order(opGrow, 0, 6), order(opTouch, 0, 0x5ec2e7), order(opSetGlobals, 0, 0x5ec2e7), order(opInit, 300_000, 0),
		order(opFill, 524_288-5000, 0xee), order(opCopy, 1000, 300_000)}
}

// nothingLeft checks that no state of an earlier call is observable.
func nothingLeft(b *bench) {
	p := b.pool(runtime.StateCall, limits)
	want := b.tell(p, "", look()...)
	if len(want.reports) != 14 || want.size != 2<<16 || want.reports[7] != 5 || want.reports[9] != 5 {
		b.Fatalf("the machine does not work: %v", want)
	}
	for range 3 {
		if hid := b.tell(p, "", slices.Concat(secret(), look())...); hid.end != "" || hid.size != 8<<16 || hid.reports[2] != 0x5ec2e7 {
			b.Fatalf("nothing was hidden: %v", hid)
		}
		if got := b.tell(p, "", look()...); got.String() != want.String() {
			b.Errorf("after a secret was hidden:\n got %v\nwant %v", got, want)
		}
		// Memory that is grown again is zero, and accesses out of bounds trap.
		grown := b.tell(p, "", order(opGrow, 0, 6), order(opLoad, 300_000, 0), order(opLoad, 524_284, 0))
		if grown.end != "" || !slices.Equal(grown.reports, []int64{2, 0, 0}) {
			b.Errorf("grown in a new instance: %v", grown)
		}
		if got := b.tell(p, "", order(opLoad, 131_069, 0)); got.end != runtime.KindTrap {
			b.Errorf("beyond the end: %v", got)
		}
	}
}

// random returns random orders, most of which are harmless.
func random(r *rand.Rand) []int64 {
	all := make([]int64, 1+r.IntN(12))
	for i := range all {
		op := []int{opStore, opStore, opGrow, opSize, opLoad, opLoad, opSetGlobals, opGlobals, opFill, opCopy, opInit, opTouch, opIndirect}[r.IntN(13)]
		at, v := uint32(r.IntN(120_000)), r.Uint32()
		switch {
		case op == opGrow:
			v = uint32(r.IntN(4))
		case op == opCopy:
			v = uint32(r.IntN(120_000))
		case r.IntN(150) == 0:
			op = opTrap + r.IntN(2)
		case r.IntN(50) == 0:
			at = uint32(r.IntN(600_000)) // may be out of bounds
		}
		all[i] = order(op, at, v)
	}
	return append(all, look()...)
}

// asGoodAsNew compares random calls in reset instances and in new ones.
func asGoodAsNew(b *bench) {
	used, fresh := b.pool(runtime.StateCall, limits), b.pool(runtime.StateFresh, limits)
	start := b.tell(fresh, "").fuel - b.tell(used, "").fuel // fuel of the start
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	n := 300
	if testing.Short() {
		n = 50
	}
	for i := range n {
		orders := random(r)
		got, want := b.tell(used, "", orders...), b.tell(fresh, "", orders...)
		want.fuel -= start
		if got.String() != want.String() {
			b.Fatalf("seed %d, call %d, orders %x:\n got %v\nwant %v", seed, i, orders, got, want)
		}
	}
}

// broken checks that the next call after a failure of any kind gets a clean instance.
func broken(b *bench) {
	p := b.pool(runtime.StateCall, limits)
	want := b.tell(p, "", look()...).String()
	for _, c := range []struct {
		op    int
		limit time.Duration
		end   runtime.Kind
	}{{opTrap, limits.Deadline, runtime.KindTrap}, {opRecurse, limits.Deadline, runtime.KindTrap}, {opForever, 50 * time.Millisecond, runtime.KindDeadline}} {
		if got := b.tellWithin(c.limit, p, "", append(secret(), order(c.op, 0, 0))...); got.end != c.end {
			b.Errorf("%d: %v", c.op, got)
		}
		if got := b.tell(p, "", look()...).String(); got != want {
			b.Errorf("after %d:\n got %v\nwant %v", c.op, got, want)
		}
	}
}

// states checks that kept state is visible in its own session only, until the guest fails.
func states(b *bench) {
	load := order(opLoad, 100, 0)
	see := func(p *runtime.Pool, session string, want int64) {
		b.Helper()
		if got := b.tell(p, session, load); len(got.reports) != 1 || got.reports[0] != want {
			b.Errorf("session %q: %v, want %d", session, got, want)
		}
	}
	sessions := b.pool(runtime.StateSession, limits)
	for i, name := range []string{"a", "b", ""} {
		b.tell(sessions, name, order(opStore, 100, uint32(i+1)))
	}
	see(sessions, "a", 1)
	see(sessions, "b", 2)
	see(sessions, "", 0)
	see(sessions, "c", 0)
	b.tell(sessions, "a", order(opTrap, 0, 0))
	see(sessions, "a", 0)
	see(sessions, "b", 2)
	one := b.pool(runtime.StatePlugin, limits)
	b.tell(one, "a", order(opStore, 100, 9))
	see(one, "b", 9)
	b.tell(one, "", order(opRecurse, 0, 0))
	see(one, "b", 0)
	for _, state := range []runtime.State{runtime.StateCall, runtime.StateFresh} {
		p := b.pool(state, limits)
		b.tell(p, "a", order(opStore, 100, 9))
		see(p, "a", 0)
	}
}

// tables checks that a module that changes its table is reset too.
func tables(b *bench) {
	p := b.pool(runtime.StateCall, limits)
	want := b.tell(p, "", look()...)
	if got := b.tell(p, "", append(secret(), order(opSetTable, 0, 0), order(opIndirect, 0, 0))...); got.end != "" || !slices.Equal(got.reports, []int64{2, 8}) {
		b.Errorf("the table did not change: %v", got)
	}
	if got := b.tell(p, "", look()...); got.String() != want.String() {
		b.Errorf("\n got %v\nwant %v", got, want)
	}
}
