package extism

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxAsk bounds the text of one guest request, in bytes, without its body.
const maxAsk = 1 << 20

// ask passes a request to the gate. The error is an *runtime.AskError, or the error that ended the call.
func ask(ctx context.Context, method string, params json.RawMessage, x *exchange) (json.RawMessage, error) {
	g := runtime.GateFrom(ctx)
	if g == nil {
		return nil, &runtime.AskError{Kind: runtime.KindUnsupported, Message: "nothing can be asked here"}
	}
	if x == nil {
		x = &exchange{}
		defer x.close()
	}
	result, err := g.Ask(ctx, method, params, x)
	if err == nil && len(result) > runtime.MaxReply {
		return nil, &runtime.AskError{Kind: runtime.KindLimit,
			Message: fmt.Sprintf("the answer has %d bytes, at most %d are allowed", len(result), runtime.MaxReply)}
	}
	return result, err
}

// refused reports whether an error may be returned to the guest instead of ending the call.
func refused(ctx context.Context, err error) bool {
	var e *runtime.AskError
	return ctx.Err() == nil && errors.As(err, &e)
}

// bodyStream is the ID of the one stream that the gate can take from an exchange.
const bodyStream = 1

// exchange holds the streams of one request to the gate: the body sent by the guest, and the streams opened by the
// gate. The gate may use it from any goroutine.
type exchange struct {
	mu     sync.Mutex
	body   []byte // nil if absent or taken
	opened []io.ReadCloser
	closed bool
}

var _ runtime.Streams = (*exchange)(nil)

// maxOpened bounds the streams of one response, which names one.
const maxOpened = 8

// Open adds a stream of the response. It is closed with the exchange.
func (x *exchange) Open(r io.ReadCloser) (uint32, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || len(x.opened) >= maxOpened {
		_ = r.Close() // unread, so the error is irrelevant
		return 0, &runtime.AskError{Kind: runtime.KindLimit, Message: "too many streams"}
	}
	x.opened = append(x.opened, r)
	return bodyStream + uint32(len(x.opened)), nil
}

// Take returns the guest's body, once.
func (x *exchange) Take(id uint32) (io.ReadCloser, int64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if id != bodyStream || x.body == nil {
		return nil, 0, &runtime.AskError{Kind: runtime.KindInvalid, Message: fmt.Sprintf("stream %d is none, or was used already", id)}
	}
	body := x.body
	x.body = nil
	return io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
}

// stream returns a stream of the response, or nil for an unknown ID.
func (x *exchange) stream(id uint64) io.Reader {
	x.mu.Lock()
	defer x.mu.Unlock()
	if id <= bodyStream || id-bodyStream > uint64(len(x.opened)) {
		return nil
	}
	return x.opened[id-bodyStream-1]
}

// close closes the streams; Open fails afterwards.
func (x *exchange) close() {
	x.mu.Lock()
	opened := x.opened
	x.opened, x.closed = nil, true
	x.mu.Unlock()
	for _, r := range opened {
		_ = r.Close() // read only, so the error is irrelevant
	}
}
