package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// blockingCatalog returns a registry with the tool b-wait, which ends with its context or when release is closed.
// running counts its calls.
func blockingCatalog(t testing.TB, release <-chan struct{}, running *atomic.Int32) *registry.Registry {
	t.Helper()
	r, err := registry.New(t.Context(), registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(context.Background()) })
	wait := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		running.Add(1)
		defer running.Add(-1)
		select {
		case <-release:
			return json.RawMessage(`{"content":[]}`), nil
		case <-ctx.Done():
			return nil, &runtime.EndError{Kind: runtime.KindCancelled, Message: "cancelled", Err: ctx.Err()}
		}
	}
	addTools(t, r, wait, "b", []string{"wait"})
	return r
}

func callMessage(id any, name string) string {
	raw, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"_meta":{%s}}}`, raw, name, modernMeta)
}

// TestResponse_tellsTransportsHowARequestEnded checks the fields of Response for transports.
func TestResponse_tellsTransportsHowARequestEnded(t *testing.T) {
	s := NewServer(newCatalog(t, (&player{t: t}).obey), nil)
	c := s.Connect(ConnOptions{})
	defer c.Close()
	modern := `"params":{"_meta":{` + modernMeta + `}}`
	for _, test := range []struct {
		message     string
		code        int
		modern      bool
		refused     bool
		initialized string
	}{
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, code: -32602, refused: true},
		{message: `{"jsonrpc":"2.0","id":1,"method":"nothing"}`, code: -32601, refused: true},
		{message: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1"}}`, initialized: "2025-11-25"},
		{message: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, code: -32602},
		{message: `{"jsonrpc":"2.0","id":1,"method":"nothing",` + modern + `}`, code: -32601, modern: true, refused: true},
		{message: `{"jsonrpc":"2.0","id":1,"method":"ping",` + modern + `}`, code: -32601, modern: true, refused: true},
		{message: `{"jsonrpc":"2.0","id":1,"method":"server/discover",` + modern + `}`, modern: true},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + envelope.MetaVersion + `":"x"}}}`, code: -32022, modern: true, refused: true},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + envelope.MetaVersion + `":"2026-07-28"}}}`, code: -32602, modern: true, refused: true},
		{message: callMessage(1, "nothing"), code: -32602, modern: true},
		{message: callMessage(1, "t-any"), modern: true},
	} {
		got := handle(t, c, test.message)
		code := 0
		if got.Err != nil {
			code = got.Err.Code
		}
		if code != test.code || got.Modern != test.modern || got.Refused != test.refused || got.Initialized != test.initialized {
			t.Errorf("%s: got %+v, want code %d, modern %v, refused %v, initialized %q", test.message, got, test.code, test.modern, test.refused, test.initialized)
		}
		if got.Err != nil && !strings.Contains(string(got.Body), fmt.Sprintf(`"code":%d`, code)) {
			t.Errorf("%s: got body %s, want the code of %v", test.message, got.Body, got.Err)
		}
	}
}

// A guest's -32601 does not mean an unknown method, so HTTP must not show it as 404.
func TestResponse_isNotRefusedForAGuestError(t *testing.T) {
	s := NewServer(newCatalog(t, (&player{t: t}).obey), nil)
	c := s.Connect(ConnOptions{})
	defer c.Close()
	got := handle(t, c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t-any","_meta":{`+modernMeta+`,"fail":{"code":-32601}}}}`)
	if got.Refused || got.Err == nil || got.Err.Code != jsonrpc.CodeInternal {
		t.Errorf("got %+v, want an internal error that is not refused", got)
	}
}

// A guest's JSON-RPC error is cleaned and limited like an answer, including one for missing capabilities.
func TestResponse_cleansGuestErrors(t *testing.T) {
	const hidden = "\x1b[2J\u202e\u200b\U000e0041"
	long := strings.Repeat("long ", 100_000)
	var fail *runtime.GuestError
	s := NewServer(newCatalog(t, func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, fail }), nil)
	c := s.Connect(ConnOptions{})
	defer c.Close()
	old := s.Connect(ConnOptions{})
	defer old.Close()
	handle(t, old, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	text := func(s string) string { return string(jsonraw.AppendString(nil, s)) }
	for name, e := range map[string]runtime.GuestError{
		"hidden in the message":    {Code: 7, Message: "visible" + hidden},
		"hidden in the data":       {Code: 7, Message: "visible", Data: json.RawMessage(`{` + text("k"+hidden) + `:` + text(hidden) + `}`)},
		"hidden where it asks":     {Code: -1, Message: "visible" + hidden, Data: json.RawMessage(`{"requiredCapabilities":{"roots":{` + text("k"+hidden) + `:` + text(hidden) + `}}}`)},
		"a long message":           {Code: 7, Message: "visible" + long},
		"long data":                {Code: 7, Message: "visible", Data: json.RawMessage(text(long))},
		"a long message that asks": {Code: -1, Message: "visible" + long, Data: json.RawMessage(`{"requiredCapabilities":{"roots":{}}}`)},
	} {
		for _, test := range []struct {
			method, params, meta string
			most                 int
		}{
			{"tools/call", `"name":"t-any"`, modernMeta, 17 << 10},
			{"tools/call", `"name":"t-any"`, modernMeta + `,"dev.sallyport/maxBytes":600`, 1200},
			{"tools/call", `"name":"t-any"`, "", 17 << 10},
			{"prompts/get", `"name":"t-plain"`, modernMeta, 17 << 10},
			{"prompts/get", `"name":"t-plain"`, "", 17 << 10},
			{"resources/read", `"uri":"test://text"`, modernMeta, 17 << 10},
		} {
			now := e
			fail = &now
			meta, to := "", old
			if test.meta != "" {
				to, meta = c, `,"_meta":{`+test.meta+`}`
			}
			got := string(handle(t, to, `{"jsonrpc":"2.0","id":1,"method":"`+test.method+`","params":{`+test.params+meta+`}}`).Body)
			if len(got) > test.most || !strings.Contains(got, "visible") || strings.ContainsAny(got, hidden[:1]+"\u202e\u200b\U000e0041") || strings.Contains(got, `\u001b`) {
				t.Errorf("%s, %s %s: got %d bytes, %.300q, want at most %d, without hidden characters", name, test.method, test.meta, len(got), got, test.most)
			}
		}
	}
}

// A call not started for lack of capacity fails with a retry delay, for tools and all other methods.
func TestResponse_hasARetryDelayIfBusy(t *testing.T) {
	busy := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: "too many calls", Err: &runtime.BusyError{After: 2500 * time.Millisecond}}
	}
	s := NewServer(newCatalog(t, busy), nil)
	c := s.Connect(ConnOptions{})
	defer c.Close()
	for _, test := range []struct{ method, params string }{
		{"tools/call", `"name":"t-any"`},
		{"prompts/get", `"name":"t-plain"`},
		{"resources/read", `"uri":"test://text"`},
	} {
		got := handle(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{%s}}}`, test.method, test.params, modernMeta))
		if got.Busy != 2500*time.Millisecond || got.Err == nil || got.Err.Code != jsonrpc.CodeInternal ||
			!strings.Contains(string(got.Body), `"data":{"kind":"limit","retryable":true,"retryAfterMs":2500`) {
			t.Errorf("%s: got %s, busy %v, want a limit with a delay of 2.5 s", test.method, got.Body, got.Busy)
		}
	}
}

func TestConn_limitsRequestsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var running atomic.Int32
		s := NewServer(blockingCatalog(t, release, &running), nil)
		c := s.Connect(ConnOptions{})
		list := `{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{"_meta":{` + modernMeta + `}}}`
		handle(t, c, list) // the first one waits until all plugins are known
		var calls sync.WaitGroup
		for i := range MaxInFlight {
			calls.Go(func() { handle(t, c, callMessage(i, "b-wait")) })
		}
		synctest.Wait()
		if n := running.Load(); n != MaxInFlight {
			t.Fatalf("got %d running calls, want %d", n, MaxInFlight)
		}
		over := handle(t, c, callMessage("over", "b-wait"))
		const busy = `{"jsonrpc":"2.0","id":"over","error":{"code":-32603,"message":"too many requests in flight","data":{"kind":"limit","retryable":true,"retryAfterMs":1000}}}`
		if string(over.Body) != busy || over.Busy != time.Second {
			t.Errorf("one too many: got %s, busy %v, want %s, busy 1s", over.Body, over.Busy, busy)
		}
		if got := handle(t, c, list); got.Err != nil {
			t.Errorf("a list while all calls run: got %v, want none", got.Err)
		}
		close(release)
		calls.Wait()
		if again := handle(t, c, callMessage("again", "b-wait")); again.Err != nil {
			t.Errorf("after the others ended: got %v, want a call", again.Err)
		}
		c.Close()
	})
}

// After Close no request runs, and none is started.
func TestConn_closeEndsItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		s := NewServer(blockingCatalog(t, nil, &running), nil)
		c := s.Connect(ConnOptions{})
		var body []byte
		var calls sync.WaitGroup
		calls.Go(func() { body = handle(t, c, callMessage(1, "b-wait")).Body })
		synctest.Wait()
		c.Close()
		if n := running.Load(); n != 0 {
			t.Errorf("got %d calls after Close, want none", n)
		}
		calls.Wait()
		if body != nil {
			t.Errorf("a call that Close cancelled: got %s, want no answer", body)
		}
		c.Close() // Close is idempotent
		if len(s.conns.list()) != 0 {
			t.Errorf("got %d connections after Close, want none", len(s.conns.list()))
		}
	})
}

func TestServer_closeWaitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var running atomic.Int32
		s := NewServer(blockingCatalog(t, release, &running), nil)
		c := s.Connect(ConnOptions{})
		var body []byte
		go func() { body = handle(t, c, callMessage(1, "b-wait")).Body }()
		synctest.Wait()
		go func() {
			time.Sleep(time.Second)
			close(release)
		}()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if body == nil {
			t.Error("a call in flight was not waited for")
		}
		if r := handle(t, s.Connect(ConnOptions{}), callMessage(2, "b-wait")); !strings.Contains(string(r.Body), "unavailable") {
			t.Errorf("after Close: got %s, want unavailable", r.Body)
		}
	})
}

func TestServer_closeCancelsCallsAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		s := NewServer(blockingCatalog(t, nil, &running), nil)
		c := s.Connect(ConnOptions{})
		go handle(t, c, callMessage(1, "b-wait"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v of Close, want the deadline", err)
		}
		if n := running.Load(); n != 0 {
			t.Errorf("got %d calls after Close, want none", n)
		}
	})
}

// The deadline of the transport's context is a failure; its cancellation counts as the client's.
func TestHandle_tellsDeadlineFromCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		s := NewServer(blockingCatalog(t, nil, &running), nil)
		c := s.Connect(ConnOptions{})
		defer c.Close()
		m := parse(t, callMessage(1, "b-wait"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r := c.Handle(ctx, &m, nil); r.Body == nil {
			t.Error("no answer at the deadline")
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if r := c.Handle(ctx, &m, nil); r.Body != nil {
			t.Errorf("after the client left: got %s, want no answer", r.Body)
		}
	})
}

// With many concurrent clients, ids and cancellations, every call ends and none is answered twice.
func TestConn_answersEachConcurrentRequestOnce(t *testing.T) {
	release := make(chan struct{})
	close(release)
	var running atomic.Int32
	catalog := blockingCatalog(t, release, &running)
	s := NewServer(catalog, nil)
	var clients sync.WaitGroup
	for n := range 8 {
		clients.Go(func() {
			c := s.Connect(ConnOptions{Notify: func([]byte) {}})
			defer c.Close()
			handle(t, c, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`)
			handle(t, c, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			var calls sync.WaitGroup
			for i := range 50 {
				calls.Go(func() {
					r := handle(t, c, callMessage(i, "b-wait"))
					if r.Body != nil && !bytes.Contains(r.Body, fmt.Appendf(nil, `"id":%d,"result"`, i)) {
						t.Errorf("got %s, want a result with id %d", r.Body, i)
					}
				})
				calls.Go(func() {
					handle(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
				})
			}
			if n == 0 {
				addTools(t, catalog, nil, "more", []string{"x"})
			}
			calls.Wait()
		})
	}
	clients.Wait()
	if n := running.Load(); n != 0 {
		t.Errorf("got %d running calls at the end, want none", n)
	}
}

// Options.Met receives the client name in both eras, once per connection and name.
func TestOptions_metReceivesEachClientNameOnce(t *testing.T) {
	var names []string
	s := NewServer(newCatalog(t, (&player{t: t}).obey), &Options{Met: func(name string) { names = append(names, name) }})
	c := s.Connect(ConnOptions{})
	defer c.Close()
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old\u202e","version":"1"}}}`
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"` + strings.Repeat("n", 40) + `"},` + modernMeta + `}}}`
	for _, message := range []string{initialize, initialize, discover, discover, strings.ReplaceAll(initialize, "old", "next")} {
		handle(t, c, message)
	}
	if want := []string{`old\u202e`, strings.Repeat("n", 40), `next\u202e`}; fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", names, want)
	}
}
