package protocol

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// inFlight holds the requests of a connection that have no answer yet. It is safe for concurrent use.
type inFlight struct {
	running sync.WaitGroup // Add is called under mu and never after closed is set

	mu     sync.Mutex
	closed bool
	byID   map[string]*request // verbatim ids
}

// begin registers a request and returns its cancellable context. A quick request is only admitted.
func (f *inFlight) begin(ctx context.Context, r *request, quick bool) (context.Context, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ctx, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the connection is closing"}
	}
	if _, dup := f.byID[string(r.call.ID)]; dup {
		return ctx, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a request with this id is in flight"}
	}
	if quick {
		return ctx, nil
	}
	if len(f.byID) >= MaxInFlight {
		return ctx, &runtime.EndError{Kind: runtime.KindLimit, Message: "too many requests in flight",
			Err: &runtime.BusyError{After: time.Second}}
	}
	if f.byID == nil {
		f.byID = map[string]*request{}
	}
	ctx, r.stop = context.WithCancel(ctx)
	f.byID[string(r.call.ID)] = r
	f.running.Add(1)
	return ctx, nil
}

// end unregisters a request of begin.
func (f *inFlight) end(r *request) {
	if r.stop == nil {
		return
	}
	r.stop()
	f.mu.Lock()
	delete(f.byID, string(r.call.ID))
	f.mu.Unlock()
	f.running.Done()
}

// cancel cancels the request with that id, and reports whether there is one. Nothing more is sent for it.
func (f *inFlight) cancel(id json.RawMessage) bool {
	f.mu.Lock()
	r := f.byID[string(id)]
	f.mu.Unlock()
	if r != nil {
		r.abandon()
	}
	return r != nil
}

// cancelAll cancels all requests and refuses new ones.
func (f *inFlight) cancelAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, r := range f.byID {
		r.abandon()
	}
}

// drain refuses new requests and waits for those in flight.
func (f *inFlight) drain() {
	f.close()
	f.running.Wait()
}

// close refuses new requests.
func (f *inFlight) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// calls returns the number of requests, without subscriptions.
func (f *inFlight) calls() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.byID {
		if r.call.Method != listenMethod {
			n++
		}
	}
	return n
}
