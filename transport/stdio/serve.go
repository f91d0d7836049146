package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/user"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
)

const (
	// maxMessage is the default of Options.MaxMessage, 16 MiB: enough for a base64 image or a file, while one line
	// cannot exhaust memory.
	maxMessage = 16 << 20
	// maxBytes bounds the messages of all calls in flight together, 64 MiB, for the same reason.
	maxBytes = 4 * maxMessage
	// defaultConcurrency is the maximum of calls in flight: high enough that queued calls do not keep their
	// cancellations from being read. A flood waits in the pipe.
	defaultConcurrency = protocol.MaxInFlight
	// defaultDrain is the time for calls to finish after the end of input. Clients that closed the pipe commonly kill
	// the process some seconds later.
	defaultDrain = 5 * time.Second
	// cancelWait is the time for cancelled calls to return. A guest stops within milliseconds.
	cancelWait = time.Second
)

// Options configure Serve. All fields are optional, and nil is the zero value.
type Options struct {
	// Principal is the caller of all requests; "" means stdio:<uid> of this process.
	Principal string
	// MaxMessage bounds a message, in bytes; 0 means 16 MiB.
	MaxMessage int
	// Concurrency bounds the concurrent requests, at least 2; 0 means protocol.MaxInFlight. At the limit reading
	// stops.
	Concurrency int
	// Drain is the time for calls in flight to finish after reading ended; 0 means 5 s, negative means none.
	Drain time.Duration
	// Logger receives errors that cannot be sent to the client; nil discards them.
	Logger *slog.Logger
}

func (o *Options) withDefaults() *Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Principal == "" {
		d.Principal = "stdio:" + uid()
	}
	if d.MaxMessage <= 0 {
		d.MaxMessage = maxMessage
	}
	if d.Concurrency <= 0 {
		d.Concurrency = defaultConcurrency
	}
	d.Concurrency = max(d.Concurrency, 2)
	if d.Drain == 0 {
		d.Drain = defaultDrain
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return &d
}

func uid() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Uid
}

// Serve reads messages from in and writes responses to out until the input ends or ctx is done, which are not errors,
// or until reading or writing fails.
//
// In each case calls in flight have Options.Drain to finish, and are then cancelled. A Read of in that is blocked
// when ctx is done is abandoned, with its goroutine. Calls that do not stop after cancellation are an error.
func Serve(ctx context.Context, srv *protocol.Server, in io.Reader, out io.Writer, o *Options) error {
	o = o.withDefaults()
	connect := func(notify func([]byte)) conn {
		return srv.Connect(protocol.ConnOptions{Principal: o.Principal, Session: o.Principal, Notify: notify, Heard: func() bool { return true }})
	}
	return serve(ctx, connect, in, out, o)
}

// conn is the used part of *protocol.Conn.
type conn interface {
	Handle(ctx context.Context, m *jsonrpc.Message, send func([]byte)) protocol.Response
	HandleBatch(ctx context.Context, data []byte, send func([]byte)) protocol.Response
	EndSubscriptions()
	Close()
}

var _ conn = (*protocol.Conn)(nil)

func serve(ctx context.Context, connect func(func([]byte)) conn, in io.Reader, out io.Writer, o *Options) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := &server{ended: make(chan struct{}), logger: o.Logger, watch: newWatch()}
	s.out = newWriter(out, func(err error) { s.end(fmt.Errorf("write: %w", err)) })
	s.in = &lines{in: in, max: o.MaxMessage}
	s.calls = newCalls(base, s.out, o)
	s.conn = connect(func(msg []byte) { s.out.write(msg, false) })
	if w, ok := s.conn.(interface{ Waiting() int }); ok {
		s.calls.waiting = w.Waiting
	}

	watching := make(chan struct{})
	go func() {
		defer close(watching)
		s.watch.run(s)
	}()
	go s.lead(0) // ends with the input, or is abandoned in a blocked Read
	select {
	case <-s.ended:
	case <-ctx.Done():
		s.end(io.EOF) // treated as the end of input
	}
	s.drain(cancel, o.Drain)
	close(s.watch.stop)
	<-watching
	return s.result()
}

// drain waits for the calls in flight, and cancels them when patience has elapsed.
func (s *server) drain(cancel context.CancelFunc, patience time.Duration) {
	defer s.out.close()
	s.calls.close()
	quiet := make(chan struct{}) // closed when all output is written
	go func() {
		defer close(quiet)
		s.conn.EndSubscriptions()
		<-s.calls.empty
		s.out.flush() // the goroutine of the last call may flush too late
	}()
	if wait(quiet, patience) {
		s.conn.Close()
		return
	}
	cancel()
	if !wait(quiet, cancelWait) {
		s.out.close() // perhaps the client does not read its output
	}
	if wait(quiet, cancelWait) && !s.out.busy() {
		s.conn.Close()
		return
	}
	s.err = errLeft
}

// errLeft is the error of Serve for abandoned calls.
var errLeft = errors.New("calls did not stop when they were cancelled, or the client did not read their answers")

func wait(done <-chan struct{}, atMost time.Duration) bool {
	t := time.NewTimer(max(atMost, 0))
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// result returns the error of Serve, nil after the end of input.
func (s *server) result() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}
