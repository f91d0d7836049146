package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

const (
	// greetMethod is the method of the request that completes the handshake for the image of all calls.
	greetMethod = "server/greet"
	// greetFuel bounds that request: a second or so, and twenty times the start of a usual server.
	greetFuel = 30_000_000_000
	// settleFuel bounds the work of a server after its answer, before it waits again.
	settleFuel = 5_000_000_000
	// maxStale limits the cancelled requests whose responses may still come.
	maxStale = 32
)

// resuming is the dialect of a server that can be suspended while it waits for input, and resumed in another call or in
// a copy of its instance. Calls under StateCall begin behind the handshake, which is a part of the image. Under
// StateSession and StatePlugin a call ends when the server waits again, and the next one continues there.
type resuming struct {
	*dialect
	clocked bool         // it can also be suspended where it reads a clock
	begins  atomic.Int64 // the reading at which the image ends, if it does not end behind the handshake; see readings
	varies  atomic.Bool  // the lists of a kept server have changed
}

// settled is the note of an instance whose server waits behind the handshake, or has not completed it.
type settled struct {
	greeting json.RawMessage // the result of initialize, which was sent; nil if it is awaited
	kept     bool            // it has served a call
	id       int             // of the last request
	line     []byte          // the start of an incomplete line of output
	unread   []byte          // input
	stale    []int           // cancelled requests without a response
	waits    int             // the cancelled request that the server was not told of; 0 for none
}

// WarmUp returns the request that completes the handshake, or one that starts the server up to its first effect.
func (r *resuming) WarmUp() runtime.Request {
	if r.begins.Load() > 0 {
		return runtime.Request{Method: beginMethod}
	}
	return runtime.Request{Method: greetMethod}
}

// GreetFuel implements runtime.Greeter.
func (*resuming) GreetFuel() uint64 { return greetFuel }

// Serve resumes the server for one request, or starts it.
func (r *resuming) Serve(ctx context.Context, in *runtime.Instance, req runtime.Request) (json.RawMessage, error) {
	behind, resumes := in.Noted().(*settled)
	greets := req.Method == greetMethod
	if req.Method == beginMethod {
		return r.begin(ctx, in)
	}
	if !resumes && !in.Kept() && !greets || r.err != nil {
		return r.dialect.Serve(ctx, in, req)
	}
	c := newConversation(ctx, in)
	c.settles, c.greets, c.readings = in.Kept() || greets, greets, &readings{c: c}
	if err := r.open(c); err != nil {
		return nil, err
	}
	defer native.Attach(in)()
	if first := !resumes || !behind.kept; in.Kept() && first && r.varies.Load() {
		c.changed = everyList() // those of an earlier server have no meaning for this one
	}
	var err error
	switch {
	case resumes && behind.greeting == nil:
		c.client, c.id, c.line, c.method = r.clientFor(c, req), behind.id, slices.Clip(behind.line), initialize
		c.input.Send(behind.unread)
		err = in.ResumeClock(ctx)
	case resumes:
		behind.resume(c, r.clientFor(c, req))
		err = in.Resume(ctx)
	case greets:
		c.greet(&greeter{conversation: c})
		_, err = in.Call(ctx, start)
	default:
		c.greet(r.clientFor(c, req))
		_, err = in.Call(ctx, start)
	}
	switch {
	case errors.Is(err, runtime.ErrSuspended) && c.settles:
		in.Note(settle(c))
	case c.settles: // the server has ended
		in.Discard()
		c.over = c.over && !greets
	}
	if c.reread {
		r.varies.Store(true)
	}
	result, err := c.outcome(err, r.manifest == nil)
	if greets {
		return result, r.again(ctx, c.readings, err)
	}
	return result, lost(in, err)
}

// resume continues the conversation of an instance, with a request.
func (behind *settled) resume(c *conversation, client client) {
	c.client, c.greeting = client, behind.greeting
	// The copies of an image share the note: a call that appends must not write into the room behind the line.
	c.id, c.line, c.stale = behind.id, slices.Clip(behind.line), behind.stale
	c.input.Send(behind.unread)
	if behind.waits != 0 {
		c.send(jsonrpc.AppendNotification(nil, "notifications/cancelled", fmt.Appendf(nil, `{"requestId":%d}`, behind.waits)))
	}
	client.resumed()
}

// settle returns the state of a conversation with a server that waits.
func settle(c *conversation) *settled {
	s := &settled{greeting: c.greeting, kept: !c.greets, id: c.id, line: c.line, unread: c.input.Rest(), stale: c.stale}
	if c.method != "" {
		s.waits = c.id
		s.stale = append(s.stale[max(0, len(s.stale)-maxStale+1):len(s.stale):len(s.stale)], c.id)
	}
	return s
}

// lost adds to the error of a call that ended a kept server that its state is lost.
func lost(in *runtime.Instance, err error) error {
	var end *runtime.EndError
	if !in.Kept() || !errors.As(err, &end) || end.Kind == runtime.KindCancelled {
		return err
	}
	end.Message = strings.TrimSuffix(end.Message, ".") + "; its state is lost, and the next call starts it again"
	return end
}
