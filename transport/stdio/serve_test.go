package stdio

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

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
		t.Errorf("a line of exactly the limit: got %.100s, want %q in it", got, `"result":"xxx`)
	}
	io.WriteString(c.in, fit(limit)+"\r\n")
	if got := c.line(); !strings.Contains(got, `"result":"xxx`) {
		t.Errorf("a line of exactly the limit with CRLF: got %.100s, want %q in it", got, `"result":"xxx`)
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
	got := slices.Sorted(strings.Lines(out.String())) // another goroutine may read on before the refusal is written
	want := []string{result(1, `"hello"`) + "\n",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: message is over the limit of 16777216 bytes"}}` + "\n"}
	if !slices.Equal(got, want) {
		t.Errorf("got %.300q, want %q", got, want)
	}
	if allocated > 4*maxMessage {
		t.Errorf("got %d bytes allocated, want at most %d", allocated, 4*maxMessage)
	}
}

// A response that waits for the one before is written although the input has ended meanwhile.
func TestServe_writesResponsesBehindTheEndOfInput(t *testing.T) {
	for range 20 {
		in, client := io.Pipe()
		out := &gated{entered: make(chan struct{}), open: make(chan struct{})}
		ended := make(chan error)
		go func() { ended <- serve(t.Context(), newFake().connect, in, out, new(Options).withDefaults()) }()
		send := func(text string) {
			if _, err := io.WriteString(client, text); err != nil {
				t.Error(err)
			}
		}
		send(request(1, "ping", `{}`) + "\n")
		<-out.entered
		send(request(2, "ping", `{}`) + "\n")
		send("\n") // the second message is being handled, and another goroutine reads
		client.Close()
		close(out.open)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if want := result(1, `{}`) + "\n" + result(2, `{}`) + "\n"; out.text.String() != want {
			t.Fatalf("got %q, want %q", out.text.String(), want)
		}
	}
}

// The end of the input waits for a response that took no call, as it does for calls.
func TestCalls_emptyBehindReplies(t *testing.T) {
	c := newCalls(t.Context(), nil, new(Options).withDefaults())
	if !c.beginReply() {
		t.Fatal("got a refusal, want the reply registered")
	}
	c.close()
	select {
	case <-c.empty:
		t.Error("got no call left, want a wait for the reply")
	default:
	}
	c.endReply()
	<-c.empty
	if c.beginReply() {
		t.Error("got a reply registered behind the end, want none")
	}
}

// gated is an output whose writes wait until it is opened.
type gated struct {
	once          sync.Once
	entered, open chan struct{}
	text          bytes.Buffer
}

func (g *gated) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.entered) })
	<-g.open
	return g.text.Write(p)
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
		t.Errorf("oneLine: got %q, want one line", got)
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
			t.Fatalf("got call %s running over the limit, want it waiting", <-f.entered)
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
		big := strings.Replace(callOf(1, "wait"), "hello", strings.Repeat("x", maxMessage-1000), 1)
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
			t.Fatal("got the sixth message of 16 MiB read beside five others, want it waiting")
		}
		close(f.release)
		for range 6 {
			c.want(result(1, `{"done":true}`))
		}
	})
}
