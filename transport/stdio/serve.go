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
	// MaxMessage is the default of Options.MaxMessage, 16 MiB: a base64 image or a file fits, and
	// one line cannot take the machine's memory.
	MaxMessage = 16 << 20
	// maxBytes bounds the messages of all calls in flight together, 64 MiB, for the same reason.
	maxBytes = 4 * MaxMessage
	// defaultConcurrency is as many as one client may have in flight: calls that wait for their turns keep nobody
	// from being heard who cancels them. A flood waits in the pipe.
	defaultConcurrency = protocol.MaxInFlight
	// defaultDrain is how long calls may go on after the end of input: a client that closed the
	// pipe commonly kills us some seconds later.
	defaultDrain = 5 * time.Second
	// cancelWait is how long cancelled calls have to come back: a guest is stopped in milliseconds.
	cancelWait = time.Second
)

// Options are the settings of Serve. All are optional, and nil is the same as none.
type Options struct {
	// Principal says whose calls these are; "" means stdio:<uid> of this process.
	Principal string
	// MaxMessage is the longest message read, in bytes; 0 means 16 MiB.
	MaxMessage int
	// Concurrency is how many requests run at once, at least 2; 0 means protocol.MaxInFlight. At the limit
	// nothing more is read.
	Concurrency int
	// Drain is how long calls in flight may go on once reading ended; 0 means 5 s, negative
	// not at all.
	Drain time.Duration
	// Logger gets what the client cannot be told; nil drops it.
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
		d.MaxMessage = MaxMessage
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

// Serve reads messages from in and writes answers to out until the input ends or ctx is done,
// which is no error, or until reading or writing fails. Calls that had to be left behind are an error.
//
// In all cases calls in flight get Options.Drain to finish and are cancelled then. A Read of in
// that is still blocked when ctx is done is left behind, with its goroutine.
func Serve(ctx context.Context, srv *protocol.Server, in io.Reader, out io.Writer, o *Options) error {
	o = o.withDefaults()
	connect := func(notify func([]byte)) conn {
		return srv.Connect(protocol.ConnOptions{Principal: o.Principal, Session: o.Principal, Notify: notify, Heard: func() bool { return true }})
	}
	return serve(ctx, connect, in, out, o)
}

// conn is what is needed of a *protocol.Conn.
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
	s.in = &lines{in: in, max: o.MaxMessage, idle: s.out.flush}
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
	go s.lead(0) // ends with the input, or is left behind in a Read that never returns
	select {
	case <-s.ended:
	case <-ctx.Done():
		s.end(io.EOF) // for us it is the end of input
	}
	s.drain(cancel, o.Drain)
	close(s.watch.stop)
	<-watching
	return s.result()
}

// drain waits for the calls in flight, first with patience, then having cancelled them.
func (s *server) drain(cancel context.CancelFunc, patience time.Duration) {
	defer s.out.close()
	s.calls.close()
	quiet := make(chan struct{}) // closed when nothing is left to be written
	go func() {
		defer close(quiet)
		s.conn.EndSubscriptions()
		<-s.calls.empty
		s.out.flush() // the goroutine of the last call may be about to, and comes too late
	}()
	if wait(quiet, patience) {
		s.conn.Close()
		return
	}
	cancel()
	if !wait(quiet, cancelWait) {
		s.out.close() // perhaps nobody reads what they write
	}
	if wait(quiet, cancelWait) {
		s.conn.Close()
		return
	}
	s.err = errLeft
}

// errLeft is the end of a Serve that left calls behind.
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

// result is nil after the end of input.
func (s *server) result() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}
