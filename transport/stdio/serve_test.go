package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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
			c.t.Fatal("output ended")
		}
		return s
	case <-time.After(patience):
		c.t.Fatal("no answer")
	}
	return ""
}

func (c *client) want(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		if got := c.line(); got != want {
			c.t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

// end waits for Serve, and expects no more output.
func (c *client) end() error {
	c.t.Helper()
	select {
	case err := <-c.done:
		for s := range c.out {
			c.t.Errorf("unexpected output: %s", s)
		}
		return err
	case <-time.After(patience):
		c.t.Fatal("Serve did not return")
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

func TestServe_answersInOrder(t *testing.T) {
	f := newFake()
	c := start(t, f, nil)
	c.send(request(1, "initialize", `{}`), initialized, request(2, "ping", `{}`), callOf(3, "echo"))
	c.want(result(1, `{}`), result(2, `{}`), result(3, `"hello"`))
	c.in.Close()
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	want := []string{"initialize", "notifications/initialized", "ping", "tools/call"}
	if !slices.Equal(f.methods(), want) {
		t.Errorf("handled %q, want %q", f.methods(), want)
	}
	<-f.closed
}

func TestServe_answersMalformedLinesWithErrors(t *testing.T) {
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	tests := []struct{ name, line, want string }{
		{"not json", `hello`, `"error":{"code":-32700,`},
		{"cut off", `{"jsonrpc":"2.0","id":1,"method":"ping"`, `"error":{"code":-32700,`},
		{"two values", `{} {}`, `"error":{"code":-32700,`},
		{"invalid utf-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `"error":{"code":-32700,`},
		{"nul", "\x00", `"error":{"code":-32700,`},
		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + deep + `}`, `"error":{"code":-32700,`},
		{"a number", `42`, `"error":{"code":-32600,"message":"invalid request: a message must be an object"}}`},
		{"a string", `"x"`, `"error":{"code":-32600,"message":"invalid request: a message must be an object"}}`},
		{"no version", `{"id":1,"method":"ping"}`, `"id":1,"error":{"code":-32600,"message":"invalid request: jsonrpc must be \"2.0\""}}`},
		{"bad id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":null,"error":{"code":-32600,"message":"invalid request: id must be a string or an integer"}}`},
		{"bad method", `{"jsonrpc":"2.0","id":"a","method":7}`, `"id":"a","error":{"code":-32600,"message":"invalid request: method must be a string, and not empty"}}`},
		{"bad params", `{"jsonrpc":"2.0","id":1,"method":"ping","params":3}`, `"id":1,"error":{"code":-32600,"message":"invalid request: params must be an object or an array"}}`},
		{"empty batch", `[]`, `"id":null,"error":{"code":-32600,"message":"invalid request: an empty batch"}}`},
	}
	c := start(t, newFake(), nil)
	for i, test := range tests {
		c.send(test.line)
		got := c.line()
		if !strings.Contains(got, test.want) || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`) {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		if strings.Contains(test.want, "-32700") && !strings.Contains(got, `"id":null`) {
			t.Errorf("%s: got %s, want id null", test.name, got)
		}
		c.send(callOf(i, "echo"))
		c.want(result(i, `"hello"`))
	}
	c.in.Close()
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
}

func TestServe_reportsTheFaultOfAMalformedLine(t *testing.T) {
	c := start(t, newFake(), nil)
	c.send(`{"jsonrpc"`)
	got := c.line()
	want := regexp.MustCompile(`^\{"jsonrpc":"2\.0","id":null,"error":\{"code":-32700,"message":"parse error: [^"]+"\}\}$`)
	if !want.MatchString(got) {
		t.Errorf("got %s, want %v", got, want)
	}
}

func TestServe_acceptsAllLineEnds(t *testing.T) {
	c := start(t, newFake(), nil)
	io.WriteString(c.in, "\n\r\n  \t\n"+callOf(1, "echo")+"\r\n\r\n  ")
	c.want(result(1, `"hello"`))
	io.WriteString(c.in, callOf(2, "echo")+"  \n")
	c.want(result(2, `"hello"`))
	io.WriteString(c.in, callOf(3, "echo")) // input without a final line end
	c.in.Close()
	c.want(result(3, `"hello"`))
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
}

func TestServe_refusesLinesOverTheLimit(t *testing.T) {
	const limit = 100_000
	c := start(t, newFake(), &Options{MaxMessage: limit})
	fit := func(n int) string {
		s := request(1, "tools/call", `{"name":"echo","text":""}`)
		return strings.Replace(s, `""`, `"`+strings.Repeat("x", n-len(s))+`"`, 1)
	}
	refused := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: message is over the limit of 100000 bytes"}}`

	c.send(fit(limit))
	if got := c.line(); !strings.Contains(got, `"result":"xxx`) {
		t.Errorf("a line of exactly the limit: %.100s", got)
	}
	io.WriteString(c.in, fit(limit)+"\r\n")
	if got := c.line(); !strings.Contains(got, `"result":"xxx`) {
		t.Errorf("a line of exactly the limit with CRLF: %.100s", got)
	}
	for _, n := range []int{limit + 1, limit + 2, 2 * limit, 10 * limit} {
		c.send(fit(n), callOf(2, "echo"))
		c.want(refused, result(2, `"hello"`))
	}
	io.WriteString(c.in, fit(3*limit)) // the end of input ends the line too
	c.in.Close()
	c.want(refused)
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
}

// TestServe_readsAHugeLineInBoundedMemory sends a line of 1 GiB with the default limit and checks the memory use.
func TestServe_readsAHugeLineInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 1 GiB")
	}
	in := io.MultiReader(io.LimitReader(zeros{}, 1<<30), strings.NewReader("\n"+callOf(1, "echo")+"\n"))
	var out bytes.Buffer
	allocated := testing.Benchmark(func(b *testing.B) {
		if b.N > 1 {
			b.Skip()
		}
		b.ReportAllocs()
		if err := serve(t.Context(), newFake().connect, in, &out, new(Options).withDefaults()); err != nil {
			t.Error(err)
		}
	}).AllocedBytesPerOp()
	want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: message is over the limit of 16777216 bytes"}}` +
		"\n" + result(1, `"hello"`) + "\n"
	if out.String() != want {
		t.Errorf("got %.300q, want %q", out.String(), want)
	}
	if allocated > 4*MaxMessage {
		t.Errorf("allocated %d bytes", allocated)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestServe_answersPingDuringCalls(t *testing.T) {
	f := newFake()
	c := start(t, f, nil)
	for i := range 20 {
		c.send(callOf(i, "wait"))
		<-f.entered
		c.send(request(100+i, "ping", `{}`))
		c.want(result(100+i, `{}`))
	}
	close(f.release)
	for range 20 {
		c.line()
	}
	c.in.Close()
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
}

func TestServe_cancelledCallsGetNoAnswer(t *testing.T) {
	f := newFake()
	c := start(t, f, nil)
	c.send(callOf(1, "wait"))
	<-f.entered
	c.send(cancelOf(1), request(2, "ping", `{}`))
	c.want(result(2, `{}`)) // no response to 1

	for i := range 200 { // in one write, so that the cancellation can overtake
		c.send(callOf(1000+i, "wait"), callOf(3, "echo"), cancelOf(1000+i), callOf(4, "echo"))
		got := []string{c.line(), c.line()}
		slices.Sort(got)
		if want := []string{result(3, `"hello"`), result(4, `"hello"`)}; !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	c.send(callOf(5, "deaf"))
	for id := ""; id != "5"; {
		id = <-f.entered
	}
	c.send(cancelOf(5), cancelOf(99), `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, request(6, "ping", `{}`))
	c.want(result(6, `{}`))
	close(f.release) // deaf returns now, and its result is dropped
	c.in.Close()
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
}

func TestServe_sendsMessagesBeforeTheResult(t *testing.T) {
	f := newFake()
	c := start(t, f, nil)
	c.send(callOf(1, "talk"))
	for i := range 3 {
		c.want(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}`, i))
	}
	c.want(result(1, `{"done":true}`))
	f.notify([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	c.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
}

func TestServe_answersABatchAsOneMessage(t *testing.T) {
	c := start(t, newFake(), nil)
	c.send(` [` + callOf(1, "echo") + `,` + callOf(2, "echo") + `]`)
	c.want(`["2 messages"]`)
	c.send(callOf(3, "echo"))
	c.want(result(3, `"hello"`))
}

// TestServe_writesIndentedResultsOnOneLine checks the framing with a guest that writes indented JSON.
func TestServe_writesIndentedResultsOnOneLine(t *testing.T) {
	c := start(t, newFake(), nil)
	f := func(s string) string { return request(1, "tools/call", `{"name":"echo","text":`+s+`}`) }
	c.send(f("{\r\"a\":[1,\r2], \"b\":\"\\n\"}"))
	c.want(result(1, `{ "a":[1, 2], "b":"\n"}`))
	if got := string(oneLine([]byte("{\n\"a\":\r\n1}"))); got != `{ "a":  1}` {
		t.Errorf("oneLine gave %q", got)
	}
}

func TestServe_boundsConcurrentCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 4
		f := newFake()
		c := start(t, f, &Options{Concurrency: limit})
		go func() {
			for i := range 10 {
				io.WriteString(c.in, callOf(i, "wait")+"\n")
			}
		}()
		for range limit {
			<-f.entered
		}
		synctest.Wait()
		if len(f.entered) > 0 {
			t.Fatalf("call %s runs over the limit", <-f.entered)
		}
		close(f.release)
		ids := make(map[string]bool)
		for range 10 {
			ids[c.line()] = true
		}
		if len(ids) != 10 {
			t.Errorf("%d different answers, want 10", len(ids))
		}
	})
}

func TestServe_boundsTheBytesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := start(t, f, nil)
		big := strings.Replace(callOf(1, "wait"), "hello", strings.Repeat("x", MaxMessage-1000), 1)
		go func() {
			for range 6 {
				io.WriteString(c.in, big+"\n")
			}
		}()
		for range 5 { // the fifth exceeds the budget
			<-f.entered
		}
		synctest.Wait()
		if len(f.entered) > 0 {
			t.Fatal("the sixth message of 16 MiB was read beside five others")
		}
		close(f.release)
		for range 6 {
			c.want(result(1, `{"done":true}`))
		}
	})
}

func TestServe_drainsAtTheEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := start(t, f, nil)
		c.send(callOf(1, "wait"))
		<-f.entered
		c.in.Close()
		synctest.Wait()
		if len(c.done) > 0 {
			t.Fatalf("returned %v with a call in flight", <-c.done)
		}
		close(f.release)
		c.want(result(1, `{"done":true}`))
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
		<-f.closed
	})
}

// A response is buffered if a message was read ahead. At the end of input none follows, and it is written before
// Serve returns.
func TestServer_drainWritesHeldAnswers(t *testing.T) {
	out := new(bytes.Buffer)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &server{conn: newFake(), out: newWriter(out, func(err error) { t.Error(err) })}
	s.calls = newCalls(ctx, s.out, (&Options{}).withDefaults())
	c := new(call)
	s.calls.start(c, []byte("1"), 1)
	s.out.write([]byte(result(1, "{}")), true)
	s.calls.finish(c)
	s.drain(cancel, time.Minute)
	if got := out.String(); got != result(1, "{}")+"\n" {
		t.Errorf("%q", got)
	}
}

func TestServe_boundsTheDrain(t *testing.T) {
	f := newFake()
	c := start(t, f, &Options{Drain: 10 * time.Millisecond})
	c.send(callOf(1, "wait"))
	<-f.entered
	c.in.Close()
	if err := c.end(); err != nil { // wait is cancelled, and has no response
		t.Fatal(err)
	}

	f = newFake()
	c = start(t, f, &Options{Drain: -1})
	c.send(callOf(1, "deaf"))
	<-f.entered
	c.in.Close()
	if err := c.end(); err != errLeft {
		t.Fatal(err)
	}
	close(f.release)
}

func TestServe_contextStopsABlockedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := start(t, f, nil)
		c.send(callOf(1, "wait"))
		<-f.entered
		c.stop()
		synctest.Wait()
		close(f.release)
		c.want(result(1, `{"done":true}`)) // calls may finish
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestServe_contextStopsABlockedWrite has a client that does not read, and cancels the context.
func TestServe_contextStopsABlockedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- serve(ctx, newFake().connect, inR, outW, (&Options{Drain: time.Millisecond}).withDefaults())
		}()
		io.WriteString(inW, callOf(1, "echo")+"\n")
		synctest.Wait() // the response is being written
		stop()
		select {
		case err := <-done:
			if err != errLeft {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("Serve did not return")
		}
		outR.Close()
		inR.Close()
	})
}

func TestServe_returnsWriteErrors(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	broken := errors.New("broken pipe")
	outR.CloseWithError(broken)
	done := make(chan error)
	go func() { done <- serve(t.Context(), newFake().connect, inR, outW, new(Options).withDefaults()) }()
	io.WriteString(inW, callOf(1, "echo")+"\n")
	err := <-done
	if !errors.Is(err, broken) || err.Error() != "write: broken pipe" {
		t.Errorf("got %v", err)
	}
	inR.Close()
}

func TestServe_returnsReadErrors(t *testing.T) {
	inR, inW := io.Pipe()
	broken := errors.New("bad descriptor")
	inW.CloseWithError(broken)
	err := serve(t.Context(), newFake().connect, inR, io.Discard, new(Options).withDefaults())
	if !errors.Is(err, broken) || err.Error() != "read: bad descriptor" {
		t.Errorf("got %v", err)
	}
}

// TestServe_answersEachOfManyConcurrentCalls runs quick, slow and cancelled calls at once over a real pipe.
func TestServe_answersEachOfManyConcurrentCalls(t *testing.T) {
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000
	h := hammer{newFake()}
	done := make(chan error, 1)
	go func() {
		done <- serve(t.Context(), h.connect, inR, outW, (&Options{Concurrency: 8}).withDefaults())
		outW.Close()
	}()
	go func() {
		w := bufio.NewWriter(inW)
		for i := range n {
			fmt.Fprintln(w, callOf(i, "echo"))
			if i%7 == 0 {
				fmt.Fprintln(w, "garbage")
			}
			if i%100 == 0 {
				w.Flush()
			}
		}
		w.Flush()
		inW.Close()
	}()
	answers, errs := countAnswers(t, outR)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(answers) != n || errs != (n+6)/7 {
		t.Errorf("%d answers and %d errors, want %d and %d", len(answers), errs, n, (n+6)/7)
	}
}

func countAnswers(t *testing.T, r io.Reader) (answers map[string]bool, errs int) {
	answers = make(map[string]bool)
	for lines := bufio.NewScanner(r); lines.Scan(); {
		m, err := jsonrpc.Parse(lines.Bytes())
		switch {
		case err != nil:
			t.Fatalf("%q: %v", lines.Text(), err)
		case m.Error != nil:
			errs++
		case answers[string(m.ID)]:
			t.Fatalf("two answers to %s", m.ID)
		default:
			answers[string(m.ID)] = true
		}
	}
	return answers, errs
}

// hammer is a fake with calls that take 0 to 3 ms.
type hammer struct{ *fake }

func (h hammer) connect(func([]byte)) conn { return h }

func (h hammer) Handle(ctx context.Context, m *jsonrpc.Message, send func([]byte)) protocol.Response {
	if id, err := strconv.Atoi(string(m.ID)); err == nil && id%5 == 0 {
		time.Sleep(time.Duration(id%30) * 100 * time.Microsecond)
	}
	return h.fake.Handle(ctx, m, send)
}
