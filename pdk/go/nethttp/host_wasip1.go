package nethttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unsafe"
)

//go:wasmimport sallyport read
func readStream(id uint32, p unsafe.Pointer, size uint32) int32

//go:wasmimport sallyport write
func writeStream(id uint32, p unsafe.Pointer, size uint32) int32

//go:wasmimport sallyport call
func callHost(p unsafe.Pointer, size uint32) int64

//go:wasmimport sallyport close
func closeStream(id uint32) int32

// ask sends one request to the host, and decodes the result.
func ask(ctx context.Context, method string, params map[string]any, result any) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	request, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		return err
	}
	n := callHost(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	runtime.KeepAlive(request)
	if n < 0 {
		return errno("the host cannot be asked", int32(n))
	}
	text, err := io.ReadAll(&body{id: uint32(n >> 32), ctx: context.Background(), left: -1})
	if err != nil {
		return err
	}
	var reply struct {
		Result json.RawMessage
		Error  *refusal
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		return fmt.Errorf("nethttp: the answer of the host cannot be read: %w", err)
	}
	if reply.Error == nil {
		return json.Unmarshal(reply.Result, result)
	}
	if err := over(ctx); err != nil && reply.Error.Timeout() {
		return err
	}
	return reply.Error
}

// over returns the error of a context that has ended, or whose deadline has passed while no timer could fire.
func over(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	// The host rounds the time that is left down to milliseconds.
	if end, ok := ctx.Deadline(); ok && time.Until(end) < 2*time.Millisecond {
		return context.DeadlineExceeded
	}
	return nil
}

// refusal is a denial of the host, or its failure. Data.Kind is denied, timeout, unavailable and others, and Data.Hint
// the line that would allow the request.
type refusal struct {
	Message string
	Data    struct{ Kind, Hint string }
}

// Error returns the message, with the hint.
func (e *refusal) Error() string {
	if e.Data.Hint == "" {
		return e.Message
	}
	return e.Message + " (the operator of Sallyport can grant it: " + e.Data.Hint + ")"
}

// Timeout reports whether the time of the request or of the call was over, as net.Error has it.
func (e *refusal) Timeout() bool { return e.Data.Kind == "timeout" }

// Temporary reports the same.
func (e *refusal) Temporary() bool { return e.Timeout() }

// errno returns the error for a negative result of a host function. The numbers are those of WASI.
func errno(what string, n int32) error {
	why := "error number " + strconv.Itoa(int(-n))
	switch -n {
	case 11:
		why = "the call is over"
	case 22, 51:
		why = "bodies of requests are at most 8 MiB"
	case 33:
		why = "too many responses are open: close their bodies"
	case 52:
		why = "no call is being served"
	}
	return errors.New("nethttp: " + what + ": " + why)
}

// stream is a stream of the host, as JSON names it.
type stream struct {
	ID uint32 `json:"dev.sallyport/stream"`
}

// Write sends a part of a request's body.
func (s stream) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n := writeStream(s.ID, unsafe.Pointer(unsafe.SliceData(p)), uint32(len(p)))
	runtime.KeepAlive(p)
	if n < 0 {
		return 0, errno("the body of the request cannot be sent", n)
	}
	if int(n) < len(p) {
		return int(n), io.ErrShortWrite
	}
	return len(p), nil
}

// body reads a stream of the host. It is closed with its context, at its end, and by Close.
type body struct {
	id     uint32
	ctx    context.Context
	left   int64 // bytes to come, negative if unknown
	unstop func() bool

	mu     sync.Mutex
	closed bool
	ended  bool
}

// Read reads what the host has received, and waits for at least one byte.
func (b *body) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended:
		return 0, io.EOF
	case context.Cause(b.ctx) != nil:
		return 0, context.Cause(b.ctx)
	case b.closed:
		return 0, http.ErrBodyReadAfterClose
	}
	n := readStream(b.id, unsafe.Pointer(unsafe.SliceData(p)), uint32(min(len(p), 1<<30)))
	runtime.KeepAlive(p)
	switch {
	case n > 0:
		if b.left > 0 {
			b.left -= int64(n)
		}
		return int(n), nil
	case n == 0 && b.left <= 0:
		b.ended = true
		b.close()
		return 0, io.EOF
	}
	b.close()
	if err := over(b.ctx); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("the response broke off: %w", io.ErrUnexpectedEOF)
}

// Close closes the stream. The host ends the request if the body was not read to its end.
func (b *body) Close() error {
	b.release()
	return nil
}

func (b *body) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.close()
}

// close closes the stream once. The caller holds mu.
func (b *body) close() {
	if b.closed {
		return
	}
	b.closed = true
	if b.unstop != nil {
		b.unstop()
	}
	closeStream(b.id)
}
