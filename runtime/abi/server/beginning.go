package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// A server whose start has an effect, such as a request, cannot begin its calls behind the handshake: the effect is a
// part of each call. They begin before it, in an image that holds the initialization of all packages:
//
//	runtime, packages │ the effect, the handshake, the request of the call
//	     the image    │ each call
//
// The image ends at a reading of a clock, in which a guest of Go can go on: at the first one of the time of day, on which
// the effect may depend, or else at the last one before the effect. A start that fails counts the readings up to that one,
// and a second start is suspended there.

// beginMethod is the method of the request that starts a server for the image of all calls up to its first effect.
const beginMethod = "server/begin"

// readings follows the clock readings of a start.
type readings struct {
	c     *conversation
	until int // the reading that suspends the guest; 0 for none
	count int
	last  int // the reading at which an image can end; 0 for none
	over  bool
}

// note is called before each reading.
func (r *readings) note(wall bool) {
	if r.count++; r.count == r.until {
		runtime.Suspend()
	}
	r.over = r.over || r.c.greeting != nil
	if !r.over && r.c.in.OnGoroutine() {
		r.last = r.count
	}
	r.over = r.over || wall
}

// again returns the error of a start that failed, which is followed by one that begins, if an image can end before.
func (r *resuming) again(ctx context.Context, n *readings, err error) error {
	if err == nil || ctx.Err() != nil || !r.clocked || n.last == 0 {
		return err
	}
	r.begins.Store(int64(n.last))
	return fmt.Errorf("%w: %w", runtime.ErrAgain, err)
}

// errUnsteady is the reason why a server has no image: it is not known to happen.
var errUnsteady = errors.New("its second start does not read the clock where its first one did")

// begin starts the server up to the reading at which the image ends.
func (r *resuming) begin(ctx context.Context, in *runtime.Instance) (json.RawMessage, error) {
	c := newConversation(ctx, in)
	c.greets = true
	c.readings = &readings{c: c, until: int(r.begins.Load())}
	if err := r.open(c); err != nil {
		return nil, err
	}
	defer native.Attach(in)()
	c.greet(&greeter{conversation: c})
	switch _, err := in.Call(ctx, start); {
	case err == nil:
		return nil, errUnsteady
	case !errors.Is(err, runtime.ErrSuspended):
		return nil, err
	}
	in.Note(&settled{id: c.id, line: c.line, unread: c.input.Rest()})
	return nil, nil
}
