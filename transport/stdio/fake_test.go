package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
)

// fake is a connection controlled by the tests.
//
//	ping              {}
//	tools/call echo   the params' "text"
//	tools/call wait   nothing until release is closed or the call is cancelled
//	tools/call talk   three notifications, then a result
//	tools/call deaf   like wait, but ignores cancellation
type fake struct {
	release chan struct{}
	notify  func([]byte)
	entered chan string // ids of waiting calls
	closed  chan struct{}

	mu   sync.Mutex
	seen []string // methods, in order
}

func newFake() *fake {
	return &fake{release: make(chan struct{}), entered: make(chan string, 1000), closed: make(chan struct{})}
}

func (f *fake) connect(notify func([]byte)) conn {
	f.notify = notify
	return f
}

func (f *fake) Close() { close(f.closed) }

func (f *fake) methods() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

func (f *fake) Handle(ctx context.Context, m *jsonrpc.Message, send func([]byte)) protocol.Response {
	f.mu.Lock()
	f.seen = append(f.seen, m.Method)
	f.mu.Unlock()
	if !m.IsRequest() {
		return protocol.Response{}
	}
	result := json.RawMessage(`{}`)
	if m.Method == "tools/call" {
		if result = f.call(ctx, m, send); result == nil {
			return protocol.Response{}
		}
	}
	return protocol.Response{Body: jsonrpc.AppendResult(nil, m.ID, result)}
}

func (f *fake) call(ctx context.Context, m *jsonrpc.Message, send func([]byte)) json.RawMessage {
	name, _ := jsonraw.String(jsonraw.Get(m.Params, "name"))
	switch name {
	case "echo":
		return jsonraw.Get(m.Params, "text")
	case "talk":
		for i := range 3 {
			send(jsonrpc.AppendNotification(nil, "notifications/progress", fmt.Appendf(nil, `{"progress":%d}`, i)))
		}
	case "wait":
		f.entered <- string(m.ID)
		select {
		case <-ctx.Done():
			return nil
		case <-f.release:
		}
	case "deaf":
		f.entered <- string(m.ID)
		<-f.release
	}
	return json.RawMessage(`{"done":true}`)
}

func (f *fake) EndSubscriptions() {}

func (f *fake) HandleBatch(_ context.Context, data []byte, _ func([]byte)) protocol.Response {
	list, err := jsonrpc.SplitBatch(data)
	if err != nil {
		return protocol.Response{Body: jsonrpc.AppendError(nil, nil, asError(err))}
	}
	return protocol.Response{Body: fmt.Appendf(nil, `["%d messages"]`, len(list))}
}

// client is the peer of a running Serve.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  chan string
	done chan error
	stop context.CancelFunc
}

func start(t *testing.T, f *fake, o *Options) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	c := &client{t: t, in: inW, out: make(chan string, 10000), done: make(chan error, 1), stop: stop}
	go func() {
		defer close(c.out)
		for r := bufio.NewReader(outR); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.out <- strings.TrimSuffix(line, "\n")
		}
	}()
	go func() {
		c.done <- serve(ctx, f.connect, inR, outW, o.withDefaults())
		inR.Close()
		outW.Close()
	}()
	t.Cleanup(func() { c.in.Close() })
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

const patience = time.Minute

func (c *client) line() string {
	c.t.Helper()
	select {
	case s, ok := <-c.out:
		if !ok {
			c.t.Fatal("got the end of the output, want a message")
		}
		return s
	case <-time.After(patience):
		c.t.Fatalf("got no answer within %v, want one", patience)
	}
	return ""
}

// want expects the lines in any order: a response may be overtaken by the next one.
func (c *client) want(lines ...string) {
	c.t.Helper()
	var got []string
	for range lines {
		got = append(got, c.line())
	}
	slices.Sort(got)
	slices.Sort(lines)
	if !slices.Equal(got, lines) {
		c.t.Fatalf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(lines, "\n     "))
	}
}

// end waits for Serve, and expects no more output.
func (c *client) end() error {
	c.t.Helper()
	select {
	case err := <-c.done:
		for s := range c.out {
			c.t.Errorf("got output %s, want none", s)
		}
		return err
	case <-time.After(patience):
		c.t.Fatalf("got no end of Serve within %v, want one", patience)
	}
	return nil
}

func request(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

func callOf(id int, name string) string {
	return request(id, "tools/call", `{"name":"`+name+`","text":"hello"}`)
}

func result(id int, r string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, r)
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func cancelOf(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}
