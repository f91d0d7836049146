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
