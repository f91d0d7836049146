package server

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// serve is a dialect of one function.
type serve func(ctx context.Context, in *runtime.Instance) error

func (serve) Name() string { return "test" }

func (f serve) Serve(ctx context.Context, in *runtime.Instance, _ runtime.Request) (json.RawMessage, error) {
	return json.RawMessage("null"), f(ctx, in)
}

// A server that waits at a ping will not answer it. The image is of that moment: nothing else comes that ends the wait.
func TestGreeter_aPingWithoutAnAnswerEndsTheStart(t *testing.T) {
	e, err := runtime.NewEngine(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })
	var m w.Module
	m.Memory(1, w.None)
	compiled, err := e.Compile(t.Context(), m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	pool := runtime.NewPool(compiled, serve(func(ctx context.Context, in *runtime.Instance) error {
		c := newConversation(ctx, in)
		c.input, c.greeting, c.greets, c.settles = unread{}, json.RawMessage(`{"capabilities":{}}`), true, true
		c.client = &greeter{conversation: c}
		c.client.begin()
		var end any
		func() {
			defer func() { end = recover() }()
			c.waits(time.Hour)
		}()
		if suspended, _ := end.(error); !errors.Is(suspended, runtime.ErrSuspended) || string(c.result) != `{"capabilities":{}}` {
			t.Errorf("got the end %v and the result %q, want a suspended guest and its capabilities", end, c.result)
		}
		return nil
	}), nil)
	defer pool.Close(context.Background())
	if _, err := pool.Call(t.Context(), runtime.Request{}, nil); err != nil {
		t.Error(err)
	}
}

// The collector of Go makes some pings dear, and some of them in between cheap.
func TestGreeter_waitsForCalmPings(t *testing.T) {
	for _, c := range []struct {
		fuel []uint64 // of the pings
		want int      // the number of them that are made
	}{
		{[]uint64{10, 10, 10, 10, 10}, 4},
		{[]uint64{28, 20, 16, 17, 14, 13, 20, 8, 20, 13, 8, 8, 8, 8, 8}, 14},
		{[]uint64{8, 8, 8, 9, 8}, 4},
		{[]uint64{8, 8, 8, 10, 8, 8, 8, 8, 8}, 8},
		{[]uint64{0, 0, 0, 0, 0}, 4},
		{[]uint64{pingFuel + 1, 1, 1}, 1},
		{[]uint64{pingFuel / 2, pingFuel / 2, 1, 1}, 3},
	} {
		g := greeter{}
		for g.calm < calmPings && g.pings < maxPings && g.pings < len(c.fuel) {
			made := g.pings
			g.pings++
			if g.weigh(c.fuel[made]); g.pings == maxPings {
				g.pings, g.calm = made+1, calmPings
			}
		}
		if g.pings != c.want || g.calm < calmPings {
			t.Errorf("%d: got %d pings, want %d", c.fuel, g.pings, c.want)
		}
	}
}
